import type { Clock } from "../../core/clock.ts";
import type { ServiceConfig, ServiceProject } from "../config.ts";
import { type Env, envValue } from "../env.ts";
import { listKeys } from "../keys.ts";
import { oneLine } from "../printable-text.ts";
import { projectSecrets } from "../project-secrets.ts";
import { createGitHubCodeHost } from "../runner/publish/github-code-host.ts";
import { createRedact } from "../runner/redaction.ts";
import { operatorText } from "../runner/run-error.ts";
import { openDataDir, readState } from "../state-file.ts";
import { checkAgent } from "./check-agent.ts";
import { type CheckSandbox, openCheckSandbox } from "./check-sandbox.ts";
import { CheckFault } from "./check-fault.ts";
import { checkModel } from "./check-model.ts";
import { checkRepository } from "./check-repository.ts";

/** One thing that a turn needs. `fault` says what is wrong and what to do; null: it is there, as `found` says. */
export type Finding = { of: string; what: string; found: string; fault: string | null; isWarning?: boolean };

type Check = { of: string; what: string; run: (signal: AbortSignal) => Promise<string> };
export type CheckDeps = {
  config: ServiceConfig;
  /** Where the settings are, as commands need it: `--config <path>`, or nothing. */
  configOption: string;
  /** Whether models are called, which may cost a few tokens. */
  callModel: boolean;
  env: Env;
  clock: Clock;
};

const TIME_LIMIT_MS = 30_000;
const ANY_ADDRESS = new Set(["0.0.0.0", "::"]);
const NO_BRANCH_YET = "docs-agent/check";

/** Looks for everything that a turn needs, in the settings' order. Changes nothing but to make `dataDir`. */
export async function* checkService(deps: CheckDeps): AsyncGenerator<Finding> {
  const { config } = deps;
  await using sandbox = config.containment === "none" ? null : await openCheckSandbox(deps);
  const ofSandbox = sandbox === null ? [] : [sandboxCheck(sandbox)];
  yield* findingsOf([dataDirCheck(config), ...ofSandbox], deps);
  yield* listenFindings(config);
  yield* userFindings();
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

function dataDirCheck({ dataDir }: ServiceConfig): Check {
  return {
    of: "service",
    what: "dataDir",
    run: async () => {
      openDataDir({ dataDir });
      return dataDir;
    },
  };
}

/** Nothing to say of an address that only this machine can reach. */
function* listenFindings({ listen: { host } }: ServiceConfig): Generator<Finding> {
  if (!ANY_ADDRESS.has(host)) return;
  yield {
    of: "service",
    what: "listen",
    found: `${host} is every network of this machine, and keys travel unencrypted. Listen on 127.0.0.1 behind a proxy with TLS.`,
    isWarning: true,
    fault: null,
  };
}

/** Nothing to say of a user that isn't root. */
function* userFindings(): Generator<Finding> {
  if (process.getuid?.() !== 0) return;
  yield {
    of: "service",
    what: "user",
    found: "root, whose agents' processes aren't bounded. Run the service as a user of its own.",
    isWarning: true,
    fault: null,
  };
}

function sandboxCheck({ opened }: CheckSandbox): Check {
  return { of: "service", what: "sandbox", run: async () => (await opened).kind };
}

function projectChecks(
  project: ServiceProject,
  sandbox: CheckSandbox | null,
  { config, configOption, callModel, env, clock }: CheckDeps,
): Check[] {
  const { codeHost, repository, baseBranch } = project;
  const token = codeHost.kind === "github" ? envValue(env, codeHost.tokenEnv) : null;
  const credentials = project.gitCredentialsEnv === null ? token : envValue(env, project.gitCredentialsEnv);
  const redact = createRedact(projectSecrets(project, env));
  const of = project.id;
  return [
    { of, what: "agent", run: async (signal) => checkAgent(project, { sandbox, env, clock, signal }) },
    { of, what: "model", run: (signal) => checkModel(project, { calls: callModel, env, signal }) },
    {
      of,
      what: "repository",
      run: async (signal) => {
        await checkRepository({ repository, baseBranch, credentials }, { env, redact, signal });
        return `branch ${baseBranch}, and the service may push`;
      },
    },
    ...(codeHost.kind === "github"
      ? [
          {
            of,
            what: "code host",
            run: async (signal: AbortSignal) => {
              await createGitHubCodeHost({ ...codeHost, token, clock, redact }).find(NO_BRANCH_YET, signal);
              return `${codeHost.owner}/${codeHost.repo}`;
            },
          },
        ]
      : []),
    { of, what: "admin key", run: async () => checkAdminKey(project, config, configOption) },
  ];
}

async function checkAdminKey(
  { id }: ServiceProject,
  config: ServiceConfig,
  configOption: string,
): Promise<string> {
  const keys = readState(config, listKeys) ?? [];
  const usable = keys.filter(({ projectId, revokedAt }) => projectId === id && revokedAt === null);
  if (usable.length > 0) return usable.length === 1 ? "there is one" : `there are ${usable.length}`;
  throw new CheckFault(
    `Nobody has a key. Create one: npm run service -- keys create --project ${id}${configOption}`,
  );
}
