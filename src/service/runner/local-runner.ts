import { setImmediate } from "node:timers/promises";
import type { Clock, Logger } from "../../shared/machine/ports.ts";
import { DocsAgentError } from "../../shared/errors.ts";
import type { ServiceProject } from "../config/config.ts";
import type {
  DiffReader,
  PullCloser,
  RunTurnInput,
  RunTurnResult,
  TurnRunner,
  Upkeep,
} from "./turn-runner.ts";
import { type Env, envValue, gitVariables, networkOf, projectSecrets } from "../config/env.ts";
import { sentenceCase, redactedLine } from "../base/printable-text.ts";
import { noteAgent, openRunnerFolders, RUNNER, type RunnerFolders, sweep } from "./workspace/folders.ts";
import type { ReaderProcesses } from "./process/apart/apart.ts";
import { KeyedLock } from "./workspace/git/keyed-lock.ts";
import { Mirror, type MirroredProject } from "./workspace/git/mirror.ts";
import { KeptSessions } from "./workspace/kept-sessions.ts";
import { CodeHostTokens } from "../pulls/code-host/code-host-tokens.ts";
import { CommitIdentities } from "../pulls/code-host/commit-identities.ts";
import { createGitHubCommits } from "../pulls/code-host/github-commits.ts";
import { createGitHubCodeHost } from "../pulls/code-host/github-code-host.ts";
import { createRedact, learnedSecrets, type Redact, secretForms } from "../base/redaction.ts";
import {
  AgentCutOffError,
  detailsOf,
  faultText,
  TransientRunError,
  TurnFailedError,
} from "../base/run-error.ts";
import { closeEmptyPull } from "./publish/close-empty-pull.ts";
import { readDiff as diffOf } from "./publish/read-diff.ts";
import { runTurn } from "./turn/run-turn.ts";
import { lookAfter, type UpkeepMemory } from "./upkeep.ts";
import { KeptTrees } from "./workspace/tree/kept-trees.ts";
import { KeptOutputs } from "./turn/checks/kept-outputs.ts";
import { openSandbox } from "./workspace/sandbox/open-sandbox.ts";
import { openTurnGroups } from "./workspace/sandbox/turn-groups.ts";

export type TurnRunnerDeps = {
  /** Only one process may use it at a time. */
  dataDir: string;
  /** The service's environment, with the variables that projects name. */
  env: Env;
  logger: Logger;
  clock: Clock;
  /** Whoever opened them closes them. */
  readers: ReaderProcesses;
  containment: "required" | "none";
  /**
   * True if the process does nothing else. Then it is ended when another one takes its place.
   * @default false
   */
  isOwnProcess?: boolean;
};

/** Agents choose these names, so no more than this many are logged. */
const MAX_LEFT_OUT = 1000;
const MAX_REASON_LENGTH = 2000;
const MAX_DETAIL_LENGTH = 1000;

/** Runs turns on this machine, and cleans up after them. */
export type LocalTurnRunner = ReturnType<typeof createTurnRunner>;

/** Creates the runner for a self-hosted job service's turns. */
export function createTurnRunner(deps: TurnRunnerDeps) {
  const mirrorLock = new KeyedLock();
  const tokens = new CodeHostTokens(deps);
  const identities = new CommitIdentities();
  const memory: UpkeepMemory = { places: new Map(), packedAtMs: new Map() };
  const leftOut = new Set<string>();
  const running = new Set<string>();
  const leftovers = new Set<Promise<void>>();
  let opening: ReturnType<typeof openRunner> | undefined;

  function open() {
    opening ??= openRunner(deps, afterwards).catch((error: unknown) => {
      // The next turn tries again.
      opening = undefined;
      throw error;
    });
    return opening;
  }

  function afterwards(act: () => Promise<void>): void {
    const done = setImmediate()
      .then(act)
      .finally(() => leftovers.delete(done));
    leftovers.add(done);
  }

  /** What is needed to access a project's repository. */
  function reach(project: ServiceProject, folders: RunnerFolders, logger: Logger, signal: AbortSignal) {
    const { env, clock } = deps;
    const secrets = projectSecrets(project, env);
    const redact = createRedact(secrets);
    const forms = secretForms(secrets);
    const apart = deps.readers.forTurn(project.id, signal, () => [...learnedSecrets(), ...forms]);
    const mirrorOf = (mirrored: MirroredProject) =>
      new Mirror({ project: mirrored, folders, lock: mirrorLock, env, redact, clock, logger, signal });
    const mirror = mirrorOf({
      ...project,
      branchPrefix: project.pullRequests.branchPrefix,
      gitCredentials: tokens.forGit(project),
    });
    // They belong to this project alone, because others may have no right to read them.
    const contextRepositories = project.context.map((each) => {
      const { name, repository, gitCredentialsEnv } = each;
      const gitCredentials = tokens.in(gitCredentialsEnv);
      const id = `${project.id} context ${name}`;
      return { ...each, mirror: mirrorOf({ id, repository, gitCredentials, branchPrefix: "" }) };
    });
    const host = project.codeHost;
    const hosted = host.kind === "github" ? { ...host, tokens: tokens.of(host), clock, redact } : null;
    const codeHost = hosted && createGitHubCodeHost({ ...hosted, fork: project.fork });
    const commitHost = hosted !== null && project.commits.by === "api" ? createGitHubCommits(hosted) : null;
    return { redact, apart, mirror, contextRepositories, codeHost, commitHost, hosted };
  }

  const run: TurnRunner = async (input) => {
    const { signal, report, ask, ...turn } = input;
    const { jobId, number, project } = turn;
    const { env, clock } = deps;
    const redact = createRedact(projectSecrets(project, env));
    const logger = deps.logger.child({ project: project.id, job_id: jobId, turn: number });
    running.add(jobId);
    try {
      signal.throwIfAborted();
      const opened = await open();
      const agentEnv = agentEnvOf(project, env);
      const { hosted, ...reached } = reach(project, opened.folders, logger, signal);
      const identity = await identities.of(project, hosted, signal);
      const result = await runTurn(turn, {
        signal,
        report,
        ask,
        ...opened,
        ...reached,
        committer: { ...identity, signingKeyFile: project.commits.signingKeyFile },
        network: networkOf(project, env),
        agentEnv,
        env,
        clock,
        logger,
        secrets: secretForms(keysOf(project, agentEnv, env)),
        afterwards,
        onProgress: (line) => {
          const doing = redact(line);
          report({ lines: [doing], step: sentenceCase(doing) });
        },
        onLeftOut: ({ upstream, kind, name }) => {
          const key = [project.id, upstream, kind, name].join(" ");
          if (leftOut.has(key) || leftOut.size >= MAX_LEFT_OUT) return;
          leftOut.add(key);
          logger.warn({ upstream, [kind]: name }, "left out of calls to the model: not on its allow list");
        },
      });
      return { ...result, summary: result.summary === null ? null : redact(result.summary) };
    } catch (error) {
      return failed(error, input, redact, logger);
    } finally {
      running.delete(jobId);
    }
  };

  const upkeep: Upkeep = async ({ projects: all, unfinished, signal }) => {
    const opened = await open();
    const { clock, logger } = deps;
    const projects = all.flatMap((settings) => {
      const { baseBranch, pullRequests } = settings;
      const { branchPrefix } = pullRequests;
      const { mirror, contextRepositories, codeHost } = reach(settings, opened.folders, logger, signal);
      return [
        { mirror, codeHost: settings.deleteMergedBranches ? codeHost : null, baseBranch, branchPrefix },
        ...contextRepositories.map((context) => ({
          mirror: context.mirror,
          codeHost: null,
          baseBranch,
          branchPrefix,
        })),
      ];
    });
    const isUnfinished = (jobId: string) => unfinished.has(jobId) || running.has(jobId);
    await lookAfter({ ...opened, isUnfinished, signal, projects, mirrorLock, clock, logger, memory });
  };

  const readDiff: DiffReader = async ({ project, jobId, head, signal }) => {
    const { folders } = await open();
    const reached = reach(project, folders, deps.logger, signal);
    return diffOf({ ...reached, folders }, { jobId, baseBranch: project.baseBranch, head });
  };

  const closePull: PullCloser = async (input) => {
    const { folders } = await open();
    const reached = reach(input.project, folders, deps.logger, input.signal);
    return closeEmptyPull({ ...reached, folders, clock: deps.clock }, input);
  };

  return {
    run,
    upkeep,
    readDiff,
    closePull,
    /**
     * Ends what an earlier process left, begins to remove its folders, and finds out how agents can
     * be contained. The caller must own the data folder. Rejects with a `SandboxMissingError`. If
     * nobody has called this, the first turn does.
     */
    open: async () => void (await open()),
    /** Resolves when the leftovers of ended turns, and of an earlier process, are put away. */
    settled: async () => void (await Promise.all(leftovers)),
  };
}

async function openRunner(deps: TurnRunnerDeps, afterwards: (act: () => Promise<void>) => void) {
  const { dataDir, env, logger, clock, containment, isOwnProcess = false } = deps;
  const folders = await openRunnerFolders(dataDir);
  const emptyTrash = await sweep(folders, logger);
  if (isOwnProcess) await noteAgent(folders, RUNNER, process.pid);
  const trees = new KeptTrees(folders.trees, clock);
  const sessions = new KeptSessions(folders.sessions, clock);
  await sessions.open(folders.trash);
  afterwards(emptyTrash);
  const groups = await openTurnGroups();
  const sandbox = await openSandbox({ containment, folder: folders.sandbox, env, groups });
  if (sandbox.kind === "none") {
    logger.warn(
      { containment },
      "agents run without a sandbox, as the settings say: they can read and send away all that " +
        "this user can read",
    );
  } else {
    if (groups?.bounds.memory === true && sandbox.bounds.memory !== "cgroup") {
      logger.warn({}, "control groups don't work here: turns are bounded without");
    }
    logger.info({ containment, by: sandbox.kind, bounded_by: sandbox.bounds }, "agents run in a sandbox");
  }
  return { folders, sandbox, trees, sessions, outputs: new KeptOutputs() };
}

/** The agent's variables. Our own secrets are never passed on, whatever the settings say. */
function agentEnvOf(project: ServiceProject, env: Env): Record<string, string> {
  const secretNames = gitVariables(project).map(({ name }) => name);
  return Object.fromEntries(
    project.agentEnv.flatMap((name) => {
      const value = envValue(env, name);
      return value === null || secretNames.includes(name) ? [] : [[name, value]];
    }),
  );
}

const SECRET_NAME =
  /(?:^|_)(?:API)?(?:KEY|TOKEN|SECRET|PASS(?:WORD|WD|PHRASE)?|PWD|CREDENTIALS?|AUTH)(?:_|$)/i;

/**
 * The secrets that must not get into a file. Of the agent's variables, these are the ones that are
 * named like secrets or whose values look like a key. An address or a model's name may well be part
 * of documentation.
 */
function keysOf(project: ServiceProject, agentEnv: Record<string, string>, env: Env): string[] {
  const given = Object.entries(agentEnv).flatMap(([name, value]) => {
    const looksLikeKey = /^(?=.*\d)(?=.*[A-Za-z])\S{20,}$/.test(value) && !value.includes("://");
    return SECRET_NAME.test(name) || looksLikeKey ? [value] : [];
  });
  const named = [
    ...gitVariables(project).map(({ name }) => name),
    ...project.models.map(({ keyEnv }) => keyEnv),
  ];
  return [...given, ...named.flatMap((name) => envValue(env, name) ?? [])];
}

function failed(error: unknown, input: RunTurnInput, redact: Redact, logger: Logger): RunTurnResult {
  input.signal.throwIfAborted();
  const reason = redactedLine(redact, faultText(error), MAX_REASON_LENGTH);
  const details = detailsOf(error).map((line) => redactedLine(redact, line, MAX_DETAIL_LENGTH));
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
  // A full disk, a missing program, or a bug of ours. The turn didn't cause it, so it may be tried
  // again. The cause isn't passed on, because its message isn't redacted.
  logger.error(
    { problem: reason, code: error instanceof DocsAgentError ? error.code : null },
    "turn broke off",
  );
  throw new TransientRunError("The turn broke off.", { details: [reason] });
}
