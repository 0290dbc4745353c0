import { join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/logger.ts";
import { DocsAgentError } from "../../errors.ts";
import type { ChosenPreset } from "../agent-presets.ts";
import type { ServiceProject } from "../config.ts";
import type { RunTurnInput, RunTurnResult, TurnRunner, Upkeep } from "../turn-runner.ts";
import { type Env, envValue } from "../env.ts";
import { networkOf } from "../project-secrets.ts";
import { oneLine, sentenceCase } from "../printable-text.ts";
import { projectSecrets } from "../project-secrets.ts";
import { noteAgent, openRunnerFolders, RUNNER, type RunnerFolders, sweep } from "./folders.ts";
import { SafeGit } from "./git/git.ts";
import { KeptSessions } from "./kept-sessions.ts";
import { KeyedLock } from "./keyed-lock.ts";
import { createGitHubCodeHost } from "./publish/github-code-host.ts";
import { createRedact, type Redact, secretForms } from "./redaction.ts";
import { AgentCutOffError, detailsOf, faultText, TransientRunError, TurnFailedError } from "./run-error.ts";
import { runTurn } from "./run-turn.ts";
import { lookAfter, UpkeepMemory } from "./upkeep.ts";
import { TreePool } from "./tree/tree-pool.ts";
import type { Author, RunnerProject } from "./runner-turn.ts";
import { openSandbox } from "./sandbox/open-sandbox.ts";
import type { Sandbox } from "./sandbox/sandbox.ts";
import { openTurnGroups } from "./sandbox/turn-groups.ts";

export type TurnRunnerDeps = {
  /** One process at a time uses it. */
  dataDir: string;
  /** The service's environment: where the variables are that projects name. */
  env: Env;
  logger: Logger;
  clock: Clock;
  containment: "required" | "none";
  /** Whether the process does nothing else: then it is ended when another one takes its place. @default false */
  isOwnProcess?: boolean;
};

type Opened = { folders: RunnerFolders; sandbox: Sandbox; trees: TreePool; sessions: KeptSessions };

/** Who the commits are by. */
const AUTHOR: Author = { name: "Docs Agent", email: "docs-agent@localhost" };
/** Names are the agents' to choose: more than this many say nothing new. */
const MAX_LEFT_OUT = 1000;
const MAX_REASON_LENGTH = 2000;
const MAX_DETAIL_LENGTH = 1000;

/** Runs turns on this machine, and looks after what these leave. */
export type LocalTurnRunner = {
  /**
   * Ends and removes what an earlier process left, and finds out what holds agents in. Whoever calls it owns the data folder. Rejects with a
   * `SandboxMissingError`. The first turn does the same if nobody has.
   */
  open(): Promise<void>;
  run: TurnRunner;
  upkeep: Upkeep;
};

/** Makes the runner of a self-hosted job service's turns. */
export function createTurnRunner(deps: TurnRunnerDeps): LocalTurnRunner {
  const mirrorLock = new KeyedLock();
  const memory = new UpkeepMemory();
  const leftOut = new Set<string>();
  const running = new Set<string>();
  let opening: Promise<Opened> | undefined;

  function open(): Promise<Opened> {
    // A failed start is tried again with the next turn.
    opening ??= openRunner(deps).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  }

  const run: TurnRunner = async (input) => {
    const project = toRunnerProject(input.project, deps.env);
    const redact = createRedact(projectSecrets(input.project, deps.env));
    const logger = deps.logger.child({ project: project.id, job_id: input.jobId, turn: input.number });
    running.add(input.jobId);
    try {
      input.signal.throwIfAborted();
      const { folders, sandbox, trees, sessions } = await open();
      const result = await runTurn(
        { ...input, project },
        {
          folders,
          git: new SafeGit({ env: deps.env, home: folders.gitHome, redact }),
          codeHost: project.codeHost
            ? createGitHubCodeHost({ ...project.codeHost, clock: deps.clock, redact })
            : null,
          sandbox,
          mirrorLock,
          trees,
          sessions,
          env: deps.env,
          author: AUTHOR,
          clock: deps.clock,
          logger,
          redact,
          secrets: secretForms(keysOf(project)),
          signal: input.signal,
          onProgress: (line) => {
            const doing = redact(line);
            input.onProgress(doing);
            input.onStep(sentenceCase(doing));
          },
          onAgentLine: (line) => input.onProgress(redact(line)),
          onLeftOut: ({ upstream, kind, name }) => {
            const key = [project.id, upstream, kind, name].join(" ");
            if (leftOut.has(key) || leftOut.size >= MAX_LEFT_OUT) return;
            leftOut.add(key);
            logger.warn({ upstream, [kind]: name }, "left out of calls to the model: not on its allow list");
          },
          onStep: input.onStep,
          onPlan: input.onPlan,
          onUsage: input.onUsage,
          onAgent: input.onAgent,
          onPushed: input.onPushed,
          ask: input.ask,
        },
      );
      return result.summary === null ? result : { ...result, summary: redact(result.summary) };
    } catch (error) {
      return failed(error, input, redact, logger);
    } finally {
      running.delete(input.jobId);
    }
  };

  async function upkeep({ projects: all, unfinished, signal }: Parameters<Upkeep>[0]): Promise<void> {
    const { folders, trees, sessions } = await open();
    const { env, clock, logger } = deps;
    const projects = all.map((settings) => {
      const project = toRunnerProject(settings, env);
      const redact = createRedact(projectSecrets(settings, env));
      return {
        id: project.id,
        repository: project.repository,
        gitCredentials: project.gitCredentials,
        git: new SafeGit({ env, home: folders.gitHome, redact }),
        codeHost:
          project.codeHost && settings.deleteMergedBranches
            ? createGitHubCodeHost({ ...project.codeHost, clock, redact })
            : null,
      };
    });
    const isUnfinished = (jobId: string) => unfinished.has(jobId) || running.has(jobId);
    await lookAfter({
      isUnfinished,
      signal,
      projects,
      folders,
      trees,
      sessions,
      mirrorLock,
      clock,
      logger,
      memory,
    });
  }

  return { run, upkeep, open: async () => void (await open()) };
}

async function openRunner(deps: TurnRunnerDeps): Promise<Opened> {
  const { dataDir, env, logger, clock, containment, isOwnProcess = false } = deps;
  const folders = await openRunnerFolders(dataDir);
  await sweep(folders);
  if (isOwnProcess) await noteAgent(folders, RUNNER, process.pid);
  const trees = new TreePool(join(folders.dataDir, "trees"), clock);
  await trees.open();
  const sessions = new KeptSessions(folders.sessions, clock);
  await sessions.open();
  const groups = await openTurnGroups();
  const sandbox = await openSandbox({ containment, folder: folders.sandbox, env, clock, groups });
  if (sandbox.kind === "none") {
    logger.warn(
      { containment },
      "agents run without a sandbox, as the settings say: they can read and send away all that this user can read",
    );
  } else {
    if (groups?.bounds.memory === true && sandbox.bounds.memory !== "cgroup") {
      logger.warn({}, "control groups don't work here: turns are bounded without");
    }
    logger.info({ containment, by: sandbox.kind, bounded_by: sandbox.bounds }, "agents run in a sandbox");
  }
  return { folders, sandbox, trees, sessions };
}

/** The one place that knows both the service's settings and the runner's. */
function toRunnerProject(project: ServiceProject, env: Env): RunnerProject {
  const { agent, codeHost, gitCredentialsEnv } = project;
  const token = codeHost.kind === "github" ? envValue(env, codeHost.tokenEnv) : null;
  const secretNames = [gitCredentialsEnv, codeHost.kind === "github" ? codeHost.tokenEnv : null];
  return {
    id: project.id,
    repository: project.repository,
    baseBranch: project.baseBranch,
    docs: project.docs,
    portableNames: project.portableNames,
    agent: {
      kind: agent.kind,
      command: agent.command,
      timeLimitMs: agent.timeLimitMinutes * 60_000,
      maxOutputBytes: agent.maxOutputBytes,
      terminal: agent.terminal,
      preset: presetOf(agent),
      readable: agent.readable,
      limits: agent.limits,
      asks: agent.kind === "acp" && agent.permissions === "ask",
    },
    codeHost:
      codeHost.kind === "github"
        ? {
            apiUrl: codeHost.apiUrl,
            owner: codeHost.owner,
            repo: codeHost.repo,
            token,
            tokenEnv: codeHost.tokenEnv,
          }
        : null,
    gitCredentials: gitCredentialsEnv === null ? token : envValue(env, gitCredentialsEnv),
    network: networkOf(project, env),
    agentEnv: Object.fromEntries(
      project.agentEnv.flatMap((name) => {
        const value = envValue(env, name);
        // Ours, whatever the settings say.
        return value === null || secretNames.includes(name) ? [] : [[name, value]];
      }),
    ),
  };
}

function presetOf(agent: ServiceProject["agent"]): ChosenPreset | null {
  if (agent.kind !== "acp" || agent.preset === undefined) return null;
  return { name: agent.preset, model: agent.model ?? null };
}

const SECRET_NAME =
  /(?:^|_)(?:API)?(?:KEY|TOKEN|SECRET|PASS(?:WORD|WD|PHRASE)?|PWD|CREDENTIALS?|AUTH)(?:_|$)/i;

/**
 * What must not get into a file. Of the agent's variables: those that are named as secrets, and values that look like a key. An address or
 * a model's name may well stand in documentation.
 */
function keysOf({ codeHost, gitCredentials, agentEnv, network }: RunnerProject): string[] {
  const given = Object.entries(agentEnv).flatMap(([name, value]) => {
    const looksLikeKey = /^(?=.*\d)(?=.*[A-Za-z])\S{20,}$/.test(value) && !value.includes("://");
    return SECRET_NAME.test(name) || looksLikeKey ? [value] : [];
  });
  return [codeHost?.token, gitCredentials, ...given, ...network.models.map(({ key }) => key)].filter(
    (value): value is string => typeof value === "string",
  );
}

function failed(error: unknown, input: RunTurnInput, redact: Redact, logger: Logger): RunTurnResult {
  input.signal.throwIfAborted();
  const reason = oneLine(redact(faultText(error)), MAX_REASON_LENGTH);
  const details = detailsOf(error).map((line) => oneLine(redact(line), MAX_DETAIL_LENGTH));
  if (error instanceof TurnFailedError) {
    return {
      kind: "failed",
      reason,
      ...(error.failureCause !== null && { cause: error.failureCause }),
      ...(details.length > 0 && { details }),
      ...(error instanceof AgentCutOffError && { isCutOff: true }),
    };
  }
  if (error instanceof TransientRunError) {
    const { retryAfterMs } = error;
    throw new TransientRunError(reason, { cause: error, retryAfterMs, details });
  }
  // A full disk, a missing program, or a fault of ours: not the turn's doing, so it may be tried again.
  // Its cause stays here: what it says is not redacted.
  logger.error(
    { problem: reason, code: error instanceof DocsAgentError ? error.code : null },
    "turn broke off",
  );
  throw new TransientRunError("The turn broke off.", { details: [reason] });
}
