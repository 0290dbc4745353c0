import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../src/core/ports/clock.ts";
import { StartError } from "../../src/process/start-error.ts";
import { doCommand } from "./command-socket.ts";
import type { ServiceConfig, ServiceProject } from "../config/config.ts";
import { type Env, envValue } from "../config/env.ts";
import { oneLine } from "../runner/printable-text.ts";
import { projectSecrets } from "../config/project-secrets.ts";
import { createGitHubCodeHost } from "../runner/publish/github-code-host.ts";
import { createRedact } from "../runner/redaction.ts";
import { operatorText } from "../runner/run-error.ts";
import { openSandbox } from "../runner/sandbox/open-sandbox.ts";
import { openDataDir, stateFileOf } from "../jobs/state-file.ts";
import { checkAgent, type CheckSandbox } from "./check-agent.ts";
import { checkModel } from "./check-model.ts";
import { checkTool } from "./check-tool.ts";
import { checkContext, checkRepository } from "./check-repository.ts";

/**
 * One thing that a turn needs. `fault` says what is wrong and what to do; null: it is there, as
 * `found` says.
 */
export type Finding = { of: string; what: string; found: string; fault: string | null; isWarning?: boolean };

type Check = { of: string; what: string; run: (signal: AbortSignal) => Promise<string> };
export type CheckDeps = {
  config: ServiceConfig;
  /** Where the settings are, as commands need it: `--config <path>`, or nothing. */
  configOption: string;
  /** True if models are called, which may cost a few tokens. */
  callModel: boolean;
  env: Env;
  clock: Clock;
};

const TIME_LIMIT_MS = 30_000;
const ANY_ADDRESS = new Set(["0.0.0.0", "::"]);
const NO_BRANCH_YET = "docs-agent/check";

/**
 * Looks for everything that a turn needs, in the settings' order. Changes nothing but to make
 * `dataDir`.
 */
export async function* checkService(deps: CheckDeps): AsyncGenerator<Finding> {
  const { config } = deps;
  await using sandbox = config.containment === "none" ? null : await openCheckSandbox(deps);
  const of = "service";
  const ownDataDir = async () => {
    openDataDir(config);
    return config.dataDir;
  };
  const ofService: Check[] = [{ of, what: "dataDir", run: ownDataDir }];
  if (sandbox !== null) ofService.push({ of, what: "sandbox", run: async () => (await sandbox.opened).kind });
  yield* findingsOf(ofService, deps);
  const warning = { of, fault: null, isWarning: true };
  const { host } = config.listen;
  if (ANY_ADDRESS.has(host)) {
    const found =
      `${host} is every network of this machine, and keys travel unencrypted. Listen on 127.0.0.1 ` +
      "behind a proxy with TLS.";
    yield { ...warning, what: "listen", found };
  }
  if (process.getuid?.() === 0) {
    const found = "root, whose agents' processes aren't bounded. Run the service as a user of its own.";
    yield { ...warning, what: "user", found };
  }
  for (const project of config.projects) yield* findingsOf(projectChecks(project, sandbox, deps), deps);
}

async function* findingsOf(checks: readonly Check[], { config, env }: CheckDeps): AsyncGenerator<Finding> {
  const redact = createRedact(config.projects.flatMap((project) => projectSecrets(project, env)));
  const running = checks.map(async ({ of, what, run }): Promise<Finding> => {
    const signal = AbortSignal.timeout(TIME_LIMIT_MS);
    try {
      return { of, what, found: await run(signal), fault: null };
    } catch (error) {
      const fault = signal.aborted
        ? `There was no answer within ${TIME_LIMIT_MS / 1000} s. Check the address and the network.`
        : oneLine(redact(operatorText(error)), 1000);
      return { of, what, found: "", fault };
    }
  });
  for (const finding of running) yield await finding;
}

/**
 * Opens the sandbox that agents run in, which takes a try of it. Disposing of it removes its
 * folder.
 */
async function openCheckSandbox({ env }: CheckDeps): Promise<CheckSandbox & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), "docs-agent-check-"));
  const opened = openSandbox({ containment: "required", folder, env });
  return {
    folder,
    opened,
    async [Symbol.asyncDispose]() {
      await opened.catch(() => {});
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function projectChecks(
  project: ServiceProject,
  sandbox: CheckSandbox | null,
  { config, configOption, callModel, env, clock }: CheckDeps,
): Check[] {
  const { codeHost, repository, baseBranch, id: of } = project;
  const token = codeHost.kind === "github" ? envValue(env, codeHost.tokenEnv) : null;
  const credentials = project.gitCredentialsEnv === null ? token : envValue(env, project.gitCredentialsEnv);
  const redact = createRedact(projectSecrets(project, env));
  const checks: Record<string, Check["run"]> = {
    agent: (signal) => checkAgent(project, { sandbox, env, signal }),
    model: (signal) => checkModel(project, { calls: callModel, env, signal }),
    repository: async (signal) => {
      await checkRepository({ repository, baseBranch, credentials }, { env, redact, signal });
      return `branch ${baseBranch}, and the service may push`;
    },
    ...Object.fromEntries(
      project.context.map(({ name, ref, gitCredentialsEnv, ...at }) => {
        const given = gitCredentialsEnv === undefined ? null : envValue(env, gitCredentialsEnv);
        const check: Check["run"] = async (signal) => {
          await checkContext({ repository: at.repository, ref, credentials: given }, { env, redact, signal });
          return ref;
        };
        return [`context ${name}`, check];
      }),
    ),
    ...(codeHost.kind === "github" && {
      "code host": async (signal) => {
        await createGitHubCodeHost({ ...codeHost, token, clock, redact }).find(NO_BRANCH_YET, signal);
        return `${codeHost.owner}/${codeHost.repo}`;
      },
    }),
    ...Object.fromEntries(
      project.verify.map((check) => [
        `check ${check.name}`,
        (signal: AbortSignal) => checkTool(check, project, { sandbox, env, signal }),
      ]),
    ),
    "admin key": async () => {
      openDataDir(config);
      // Asking makes the file, and whoever checks the settings may be another user than the
      // service's.
      const isThere = existsSync(stateFileOf(config));
      const count = isThere
        ? (await doCommand(config, clock, { name: "count-keys", project: of })).text
        : "0";
      if (count !== "0") return count === "1" ? "there is one" : `there are ${count}`;
      throw new StartError(
        `Nobody has a key. Create one: npm run service -- keys create --project ${of}${configOption}`,
      );
    },
  };
  return Object.entries(checks).map(([what, run]) => ({ of, what, run }));
}
