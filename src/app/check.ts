import { createServer } from "node:http";
import type { Project } from "./config/config-projects.ts";
import { type Config, contactWarning, PORT_REMEDY, timesWarning } from "./config/config.ts";
import { codeOrNameOf, messageOf } from "../shared/errors.ts";
import { listenWith } from "../shared/machine/listen.ts";
import { networkTrouble } from "../shared/machine/network-trouble.ts";
import { type JobServiceFault, speaks } from "./rules/ports/job-service.ts";
import { recordSchemas } from "./rules/records.ts";
import type { Clock, StartFinding, Logger } from "../shared/machine/ports.ts";
import { createHttpJobService } from "./job-client/http-job-service.ts";
import { wantedScopes } from "./slack/connection/setup.ts";
import { tryAccess } from "./slack/connection/try-access.ts";
import { trySlack } from "./slack/connection/try-slack.ts";
import { tryStore } from "../shared/store/try-store.ts";

/** An id that no job has. */
const NO_JOB = "docs-agent-check";

type CheckDeps = { clock: Clock; write: (line: string) => void };

/** The check itself reports what matters, once. */
const QUIET: Logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => QUIET };

/**
 * Writes what {@link tryApp} finds, a line for each part. Resolves to false if nobody could use the
 * app like this.
 */
export async function check(config: Config, { write, clock }: CheckDeps): Promise<boolean> {
  const findings = await tryApp(config, clock);
  for (const { level, name, found } of findings) write(`${level.padEnd(5)}  ${name}: ${found}\n`);
  return findings.every(({ level }) => level !== "FAULT");
}

/** Tries Slack, the store and every project's job service without changing anything. */
export async function tryApp(config: Config, clock: Clock): Promise<StartFinding[]> {
  const { isInUse, ...store } = await tryStore(config.storeUrl, {
    clock,
    logger: QUIET,
    kinds: Object.keys(recordSchemas),
  });
  const trying = [
    trySlack(config.slack, { wantedScopes: wantedScopes(config), isRunning: isInUse }),
    tryAccess(config.slack, config.access),
    ...config.projects.map((project) => checkProject(config, project)),
  ] as const;
  const [ofSlack, ofAccess, ...ofProjects] = await Promise.all(trying);
  const ofSettings = [
    { name: "Contact", found: contactWarning(config) },
    { name: "Times", found: timesWarning(config) },
  ].flatMap(({ name, found }) => (found === null ? [] : [{ level: "warn" as const, name, found }]));
  const port = isInUse ? { level: "ok" as const, name: "Port", found: IN_USE } : await tryPort(config);
  return [...ofSlack, ...ofAccess, store, port, ...ofSettings, ...ofProjects];
}

const IN_USE = "not tried while Docs Agent uses the store";

/** Listens where the app will, for a moment. */
async function tryPort({ host, port }: Config): Promise<StartFinding> {
  const name = "Port";
  try {
    const listening = await listenWith(() => createServer(), { host, port, remedy: PORT_REMEDY, graceMs: 0 });
    await listening.close();
    return { level: "ok", name, found: `${host} port ${port} is free` };
  } catch (thrown) {
    return { level: "FAULT", name, found: messageOf(thrown) };
  }
}

/** The name of what is found about a project's job service. */
export function serviceName(projectId: string): string {
  return `Job service (project ${projectId})`;
}

async function checkProject(config: Config, project: Project): Promise<StartFinding> {
  const { proxy, jobServiceTimeoutMs: timeoutMs } = config;
  const { id: projectId } = project;
  const baseUrl = project.baseUrl.replace(/\/+$/, "");
  const name = serviceName(projectId);
  const service = createHttpJobService({ ...project, projectId, proxy, timeoutMs });
  await using _ = { [Symbol.asyncDispose]: () => service.close() };
  const answer = await service.getJob(NO_JOB);
  const isOne = config.projects.length === 1;
  const settings = {
    baseUrl,
    address: isOne ? "DOCS_AGENT_BASE_URL" : "the project's baseUrl",
    key: isOne ? "DOCS_AGENT_API_KEY" : "the project's apiKey",
  };
  if (!answer.ok && answer.fault.kind !== "missing") {
    return { level: "FAULT", name, found: wordsFor(answer.fault, settings) };
  }
  if (!speaks(answer, 1)) {
    // By the contract, it says the same of a job and of a project that it doesn't have.
    const found = `${baseUrl} answers. Couldn't test the API key and the project: the first request will.`;
    return { level: "warn", name, found };
  }
  const feed = await service.changes(null, 0, AbortSignal.timeout(timeoutMs));
  if (feed.ok) return { level: "ok", name, found: "it answers, accepts the API key, and has the project" };
  const found =
    feed.fault.kind === "missing"
      ? `it has no such project. Correct the project's id, or the address ${baseUrl}`
      : wordsFor(feed.fault, settings);
  return { level: "FAULT", name, found };
}

/** What a fault of the check's own request means, and what to do. */
function wordsFor(
  { kind, status = 0, reason, message }: JobServiceFault,
  { baseUrl, address, key }: { baseUrl: string; address: string; key: string },
): string {
  if (reason !== undefined) {
    const trouble = networkTrouble(reason);
    return trouble === null
      ? `Nothing answers at ${baseUrl} (${reason}). Start the job service, or correct ${address}.`
      : `Can't reach ${baseUrl}: ${trouble.what} (${reason}). ${trouble.todo} It is ${address}.`;
  }
  const isOther = kind === "contract" || (kind === "unknown" && (status === 200 || status === 404));
  if (isOther) return `${baseUrl} answers, but isn't a job service. Check ${address}.`;
  if (status === 401 || status === 403) {
    return `The job service refuses the API key. Set ${key} to a key of this project from ${baseUrl}.`;
  }
  if (status >= 300 && status < 400) {
    return `${baseUrl} redirects elsewhere. Set ${address} to the address that it leads to.`;
  }
  if (status < 500) return message;
  return `${baseUrl} answers ${status}. Look at the job service's log, or its proxy's.`;
}

/**
 * Warns of each job service that doesn't answer. It sends no key and asks for nothing, so any
 * answer will do.
 */
export async function warnOfSilence(config: Config, logger: Logger): Promise<void> {
  const { projects, jobServiceTimeoutMs: timeoutMs } = config;
  for (const origin of new Set(projects.map(({ baseUrl }) => new URL(baseUrl).origin))) {
    try {
      const signal = AbortSignal.timeout(timeoutMs);
      await fetch(origin, { method: "HEAD", redirect: "manual", signal });
    } catch (thrown) {
      const cause = (thrown instanceof Error && thrown.cause) || thrown;
      logger.warn(
        { service: new URL(origin).host, error: codeOrNameOf(cause) },
        "the job service doesn't answer; requests wait until it does",
      );
    }
  }
}
