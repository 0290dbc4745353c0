import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/logger.ts";
import { DocsAgentError, messageOf } from "../../errors.ts";
import { AGENT_PRESETS } from "../agent-presets.ts";
import type { ServiceProject } from "../config.ts";
import type { RunTurnInput, RunTurnResult, TurnRunner } from "../turn-runner.ts";
import type { Env } from "../env.ts";
import { oneLine } from "../printable-text.ts";
import { type Containment, detectContainment } from "./containment.ts";
import {
  openRunnerFolders,
  openTurnFolders,
  removeTurnFolders,
  type RunnerFolders,
  sweep,
} from "./folders.ts";
import { SafeGit } from "./git/git.ts";
import { KeyedLock } from "./keyed-lock.ts";
import { createGitHubCodeHost } from "./publish/github-code-host.ts";
import { createRedact, type Redact, secretForms } from "./redaction.ts";
import { TransientRunError, TurnFailedError } from "./run-error.ts";
import { runTurn } from "./run-turn.ts";
import type { Author, RunnerProject } from "./runner-turn.ts";

export type TurnRunnerDeps = {
  /** One process at a time uses it. */
  dataDir: string;
  /** The service's environment: where the variables are that projects name. */
  env: Env;
  logger: Logger;
  clock: Clock;
  /** Applied to everything that somebody may read, after our own redaction. */
  redact?: Redact;
  /** Who the commits are by. @default Docs Agent <docs-agent@localhost> */
  author?: Author;
  /** What holds the agents. @default the best that the machine allows */
  containment?: Containment;
};

type Opened = { folders: RunnerFolders; containment: Containment };

const DEFAULT_AUTHOR: Author = { name: "Docs Agent", email: "docs-agent@localhost" };
const MAX_REASON_LENGTH = 2000;

/** Makes the runner of a self-hosted job service's turns. Nothing is touched before the first turn. */
export function createTurnRunner(deps: TurnRunnerDeps): TurnRunner {
  const mirrorLock = new KeyedLock();
  let opening: Promise<Opened> | undefined;

  function open(): Promise<Opened> {
    // A failed start is tried again with the next turn.
    opening ??= openRunner(deps).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  }

  return async (input) => {
    const project = toRunnerProject(input.project, deps.env);
    const secrets = secretsOf(project);
    const redact = createRedact(secrets, deps.redact);
    const logger = deps.logger.child({ jobId: input.jobId });
    try {
      input.signal.throwIfAborted();
      const { folders, containment } = await open();
      const result = await runTurn(
        { ...input, project },
        {
          folders,
          git: new SafeGit({ env: deps.env, home: folders.gitHome, clock: deps.clock, redact }),
          codeHost: project.codeHost
            ? createGitHubCodeHost({ ...project.codeHost, clock: deps.clock, redact })
            : null,
          containment,
          mirrorLock,
          env: deps.env,
          author: deps.author ?? DEFAULT_AUTHOR,
          clock: deps.clock,
          logger,
          redact,
          secrets: secretForms(keysOf(project)),
          signal: input.signal,
          onProgress: (line) => input.onProgress(redact(line)),
        },
      );
      return result.summary === null ? result : { ...result, summary: redact(result.summary) };
    } catch (error) {
      return failed(error, input, redact, logger);
    }
  };
}

async function openRunner({ dataDir, env, logger, clock, containment }: TurnRunnerDeps): Promise<Opened> {
  const folders = await openRunnerFolders(dataDir);
  await sweep(folders);
  if (containment) return { folders, containment };
  const probe = await openTurnFolders(folders, "probe");
  const found = await detectContainment(
    { PATH: env["PATH"] ?? "/usr/bin:/bin" },
    { ...probe, dataDir: folders.dataDir },
    clock,
  );
  await removeTurnFolders(probe);
  if (found.kind === "namespaces") logger.info({ containment: found.kind }, "agents are held in namespaces");
  else {
    logger.warn(
      { containment: found.kind },
      "agents are held by their process group only: they can read what this user can read; run the service as a user of its own",
    );
  }
  return { folders, containment: found };
}

/** The one place that knows both the service's settings and the runner's. */
function toRunnerProject(project: ServiceProject, env: Env): RunnerProject {
  const { agent, codeHost, gitCredentialsEnv } = project;
  const token = codeHost.kind === "github" ? valueOf(env, codeHost.tokenEnv) : null;
  const secretNames = [gitCredentialsEnv, codeHost.kind === "github" ? codeHost.tokenEnv : null];
  return {
    id: project.id,
    repository: project.repository,
    baseBranch: project.baseBranch,
    docs: project.docs,
    agent: {
      kind: agent.kind,
      command: agent.command,
      timeLimitMs: agent.timeLimitMinutes * 60_000,
      maxOutputBytes: agent.maxOutputBytes,
      terminal: agent.terminal,
      env: agent.kind === "acp" && agent.preset !== undefined ? AGENT_PRESETS[agent.preset].env : {},
    },
    codeHost:
      codeHost.kind === "github"
        ? { apiUrl: codeHost.apiUrl, owner: codeHost.owner, repo: codeHost.repo, token }
        : null,
    gitCredentials: gitCredentialsEnv === null ? token : valueOf(env, gitCredentialsEnv),
    agentEnv: Object.fromEntries(
      project.agentEnv.flatMap((name) => {
        const value = valueOf(env, name);
        // Ours, whatever the settings say.
        return value === null || secretNames.includes(name) ? [] : [[name, value]];
      }),
    ),
  };
}

function valueOf(env: Env, name: string): string | null {
  const value = env[name];
  return value === undefined || value.trim() === "" ? null : value.trim();
}

function secretsOf({ codeHost, gitCredentials, agentEnv }: RunnerProject): string[] {
  const password = gitCredentials?.slice(gitCredentials.indexOf(":") + 1);
  return [codeHost?.token, gitCredentials, password, ...Object.values(agentEnv)].filter(
    (value): value is string => typeof value === "string",
  );
}

/**
 * What must not get into a file. Of the agent's variables only what looks like a key: an address or a model's name may well stand in
 * documentation.
 */
function keysOf({ codeHost, gitCredentials, agentEnv }: RunnerProject): string[] {
  const given = Object.values(agentEnv).filter(
    (value) =>
      /^[^\s]{20,}$/.test(value) && !value.includes("://") && /\d/.test(value) && /[A-Za-z]/.test(value),
  );
  return [codeHost?.token, gitCredentials, ...given].filter(
    (value): value is string => typeof value === "string",
  );
}

function failed(error: unknown, input: RunTurnInput, redact: Redact, logger: Logger): RunTurnResult {
  input.signal.throwIfAborted();
  const reason = oneLine(redact(messageOf(error)), MAX_REASON_LENGTH);
  if (error instanceof TurnFailedError) {
    logger.info({ reason }, "turn failed");
    return { kind: "failed", reason };
  }
  if (error instanceof TransientRunError) throw error;
  // A full disk, a missing program, or a fault of ours: not the turn's doing, so it may be tried again.
  // Its cause stays here: what it says is not redacted.
  logger.error(
    { problem: reason, code: error instanceof DocsAgentError ? error.code : null },
    "turn broke off",
  );
  throw new TransientRunError(`The turn broke off: ${reason}`);
}
