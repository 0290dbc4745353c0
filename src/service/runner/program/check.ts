import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf, StartError } from "../../../shared/errors.ts";
import { createDispatcher, fetchThrough } from "../../../shared/machine/dispatcher.ts";
import { networkTrouble } from "../../../shared/machine/network-trouble.ts";
import type { Clock } from "../../../shared/machine/ports.ts";
import { detailsOf } from "../../base/run-error.ts";
import { type DoctorFinding, settingFault, splitAdvice } from "../../cli/finding.ts";
import {
  clockFinding,
  diskFinding,
  memoryFinding,
  nodeFinding,
  toolFindings,
} from "../../cli/machine-findings.ts";
import { type Env, serviceProxy } from "../../config/env.ts";
import { isMet } from "../link/fitting-projects.ts";
import { RunnerRefusedError, ServiceLink } from "../link/service-link.ts";
import type { AboutAnswer } from "../protocol.ts";
import { openSandbox } from "../workspace/sandbox/open-sandbox.ts";
import { FolderInUseError, ownRunnerFolder } from "./own-folder.ts";
import { loadRunnerSettings, type RunnerProgramSettings, RunnerSettingsError } from "./settings.ts";

type CheckDeps = { env: Env; clock: Clock; version: string };

const OF = "runner";
const SERVICE = "service";
const READ = "read the environment and .env";

/** Tries everything that a runner needs, and changes nothing but creating its folder. */
export async function* checkRunner({ env, clock, version }: CheckDeps): AsyncGenerator<DoctorFinding> {
  fetchThrough(serviceProxy(env));
  yield nodeFinding(process.versions.node);
  const settings = readSettings(env);
  if ("faults" in settings) {
    yield* settings.faults;
    return;
  }
  for (const warning of settings.warnings) {
    yield { of: OF, part: "settings", level: "warn", tried: READ, ...splitAdvice(warning) };
  }
  const { dataDir, places, containment, serviceUrl } = settings;
  yield await folderFinding(dataDir, clock);
  yield* toolFindings({ env, needsSandbox: containment === "required" });
  yield await sandboxFinding(containment, env);
  yield memoryFinding(places);
  yield await diskFinding("RUNNER_DATA_DIR", dataDir);
  const about = await askAbout(settings, env);
  if ("level" in about) {
    yield about;
    return;
  }
  yield fitFinding(about, { serviceUrl, version });
  const ofClock = await clockFinding("job service", serviceUrl, clock);
  if (ofClock !== null) yield ofClock;
  yield* projectFindings(about, settings, env);
}

function readSettings(env: Env): RunnerProgramSettings | { faults: DoctorFinding[] } {
  try {
    return loadRunnerSettings(env);
  } catch (thrown) {
    if (!(thrown instanceof RunnerSettingsError)) throw thrown;
    return { faults: thrown.faults.map((fault) => settingFault(OF, READ, fault)) };
  }
}

async function folderFinding(dataDir: string, clock: Clock): Promise<DoctorFinding> {
  const about = { of: OF, part: "RUNNER_DATA_DIR", tried: "opened it as its only owner" };
  try {
    using _ = await ownRunnerFolder(dataDir, clock, 0);
    return { ...about, level: "ok", found: dataDir, todo: null };
  } catch (thrown) {
    if (thrown instanceof FolderInUseError) {
      return { ...about, level: "ok", found: `${dataDir}, which a runner is using`, todo: null };
    }
    if (!(thrown instanceof StartError)) throw thrown;
    return { ...about, level: "fault", ...splitAdvice(thrown.message) };
  }
}

async function sandboxFinding(containment: "required" | "none", env: Env): Promise<DoctorFinding> {
  const about = { of: OF, part: "sandbox", tried: "ran a program in it" };
  if (containment === "none") {
    const found = "there is none: agents can read and send away all that this user can read";
    const todo = "Leave RUNNER_CONTAINMENT out, except for trying things out.";
    return { ...about, level: "warn", tried: READ, found, todo };
  }
  const folder = await mkdtemp(join(tmpdir(), "docs-agent-check-"));
  try {
    const { kind } = await openSandbox({ containment, folder, env });
    return { ...about, level: "ok", found: kind, todo: null };
  } catch (thrown) {
    return { ...about, level: "fault", ...splitAdvice(messageOf(thrown)) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What the service says, or what is wrong with the way there or the token. */
async function askAbout(
  { serviceUrl, token }: RunnerProgramSettings,
  env: Env,
): Promise<AboutAnswer | DoctorFinding> {
  const about = { of: SERVICE, part: "job service", level: "fault" as const };
  const tried = `asked ${new URL(serviceUrl).host} with RUNNER_TOKEN`;
  const dispatcher = createDispatcher(serviceProxy(env));
  const { signal } = new AbortController();
  try {
    return await new ServiceLink({ url: serviceUrl, token, dispatcher, signal }).about();
  } catch (thrown) {
    const [code = ""] = detailsOf(thrown);
    const trouble = networkTrouble(code);
    if (trouble !== null) return { ...about, tried, found: `${trouble.what} (${code})`, todo: trouble.todo };
    if (code !== "") {
      const todo = "Start the job service, or correct RUNNER_SERVICE_URL.";
      return { ...about, tried, found: `nothing answers there (${code})`, todo };
    }
    return { ...about, tried, found: messageOf(thrown), todo: todoFor(thrown) };
  } finally {
    await dispatcher.close();
  }
}

function todoFor(thrown: unknown): string | null {
  if (!(thrown instanceof RunnerRefusedError)) return "Look into the job service's log.";
  if (thrown.status === 401) {
    return (
      "Set RUNNER_TOKEN to what runners add printed. Nobody can show it again: if it is lost, " +
      "add another runner."
    );
  }
  return thrown.status === null ? null : "Correct RUNNER_SERVICE_URL.";
}

function fitFinding(
  { version: other, protocol }: AboutAnswer,
  { serviceUrl, version }: { serviceUrl: string; version: string },
): DoctorFinding {
  const versions = other === version ? `both are ${version}` : `the service is ${other}, this is ${version}`;
  return {
    of: SERVICE,
    part: "job service",
    level: "ok",
    tried: `asked ${new URL(serviceUrl).host} with RUNNER_TOKEN, and compared the versions`,
    found: `it takes the token, and the versions fit (${versions}, protocol ${protocol})`,
    todo: null,
  };
}

function* projectFindings(
  { projects }: AboutAnswer,
  { labels }: RunnerProgramSettings,
  env: Env,
): Generator<DoctorFinding> {
  const asked = "asked the job service which there are";
  if (projects.length === 0) {
    const todo = "Add one that may run some, with runners add at the job service.";
    const found = "this runner may run no project of the service";
    yield { of: OF, part: "projects", level: "warn", tried: asked, found, todo };
  }
  for (const { id, labels: wanted, needs } of projects) {
    const lacking = wanted.filter((label) => !labels.includes(label));
    const about = { of: OF, tried: asked, part: `project ${id}` };
    if (lacking.length > 0) {
      const found = `its turns run only on runners that also have: ${lacking.join(", ")}`;
      const todo = "Name that in RUNNER_LABELS if this machine is meant for the project.";
      yield { ...about, level: "warn", found, todo };
      continue;
    }
    yield { ...about, level: "ok", found: "this runner may run it", todo: null };
    for (const need of needs) yield needFinding(id, need, env);
  }
  yield {
    of: OF,
    part: "models",
    level: "ok",
    tried: "read what the job service says",
    found: "not tried: their calls go through the job service. Its config check --call-model tries them",
    todo: null,
  };
}

function needFinding(
  project: string,
  need: AboutAnswer["projects"][number]["needs"][number],
  env: Env,
): DoctorFinding {
  const { kind, name, place, isRequired } = need;
  const part = `${name} (${project})`;
  const tried = kind === "variable" ? `looked whether ${place} is set here` : `opened what ${place} names`;
  if (isMet(need, env)) return { of: OF, part, level: "ok", tried, found: "it is there", todo: null };
  if (!isRequired) {
    return { of: OF, part, level: "ok", tried, found: "it isn't set, which is allowed", todo: null };
  }
  const todo =
    kind === "variable"
      ? `Set ${name} in the environment or in .env here.`
      : `Put it there, readable for the runner's user, or correct ${place} at the job service.`;
  const found = "it isn't there, so this runner takes no turns of the project";
  return { of: OF, part, level: "fault", tried, found, todo };
}
