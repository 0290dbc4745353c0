import { setImmediate } from "node:timers/promises";
import type { JobDiff } from "../../../shared/contract/diff.ts";
import type { Logger } from "../../../shared/machine/ports.ts";
import { sentenceCase } from "../../base/printable-text.ts";
import { createRedact, secretForms } from "../../base/redaction.ts";
import type { ServiceProject } from "../../config/config.ts";
import { type Env, networkOf, projectSecrets } from "../../config/env.ts";
import type { LeftOut } from "../../network/gateway/model-gateway.ts";
import { CommitIdentities } from "../../pulls/code-host/commit-identities.ts";
import type { ReaderProcesses } from "../process/apart/apart.ts";
import { closeEmptyPull } from "../publish/close-empty-pull.ts";
import { readDiff } from "../publish/read-diff.ts";
import type {
  CloseInput,
  CloseResult,
  DiffInput,
  Lent,
  Runner,
  RunTurnInput,
  RunTurnResult,
  UpkeepInput,
} from "../runner.ts";
import type { TurnContext } from "../turn-context.ts";
import { runTurn } from "../turn/run-turn.ts";
import { agentEnvOf, keysOf } from "./agent-variables.ts";
import { failedTurn } from "./failed-turn.ts";
import { type OpenedRunner, openRunner, type OpenRunnerDeps } from "./open-runner.ts";
import { ProjectRepositories } from "./project-repositories.ts";
import { lookAfter, type UpkeepMemory, type UpkeepProject } from "./upkeep.ts";

export type LocalRunnerDeps = OpenRunnerDeps & {
  /** Whoever opened them closes them. */
  readers: ReaderProcesses;
};

/** Agents choose these names, so no more than this many are logged. */
const MAX_LEFT_OUT = 1000;

/** Runs turns on this machine, and cleans up after them. */
export class LocalRunner implements Runner {
  readonly #deps: LocalRunnerDeps;
  readonly #repositories: ProjectRepositories;
  readonly #identities = new CommitIdentities();
  readonly #upkeepMemory: UpkeepMemory = { places: new Map(), packedAtMs: new Map() };
  /** What was left out of model calls and is logged. */
  readonly #leftOut = new Set<string>();
  /** The jobs whose turns are running. */
  readonly #running = new Set<string>();
  readonly #leftovers = new Set<Promise<void>>();
  #opening: Promise<OpenedRunner> | undefined;

  constructor(deps: LocalRunnerDeps) {
    this.#deps = deps;
    this.#repositories = new ProjectRepositories(deps);
  }

  /**
   * Ends what an earlier process left, begins to remove its folders, and finds out how agents can
   * be contained. The caller must own the data folder. Rejects with a `SandboxMissingError`. If
   * nobody has called this, the first turn does.
   */
  async open(): Promise<void> {
    await this.#opened();
  }

  /** Resolves when the leftovers of ended turns, and of an earlier process, are put away. */
  async settled(): Promise<void> {
    await Promise.all(this.#leftovers);
  }

  async run({
    signal,
    report,
    ask,
    notes,
    lent,
    ...turn
  }: Omit<RunTurnInput, "lease">): Promise<RunTurnResult> {
    const { jobId, number, project } = turn;
    const redact = createRedact(projectSecrets(project, this.#envOf(lent)));
    const logger = this.#deps.logger.child({ project: project.id, job_id: jobId, turn: number });
    this.#running.add(jobId);
    try {
      signal.throwIfAborted();
      const result = await runTurn(
        turn,
        await this.#contextOf(project, { signal, report, ask, notes }, lent, logger),
      );
      return { ...result, summary: result.summary === null ? null : redact(result.summary) };
    } catch (error) {
      return failedTurn(error, { signal, redact, logger });
    } finally {
      this.#running.delete(jobId);
    }
  }

  async readDiff({ project, jobId, head, notes, lent, signal }: DiffInput): Promise<JobDiff | null> {
    const { folders } = await this.#opened();
    const reached = this.#repositories.of(project, { folders, logger: this.#deps.logger, signal, lent });
    return readDiff({ ...reached, notes }, { jobId, baseBranch: project.baseBranch, head });
  }

  async closePull(input: CloseInput): Promise<CloseResult> {
    const { folders } = await this.#opened();
    const { logger, clock } = this.#deps;
    const { project, lent, signal } = input;
    const reached = this.#repositories.of(project, { folders, logger, signal, lent });
    return closeEmptyPull({ ...reached, clock }, input);
  }

  async upkeep({ projects, unfinished, signal }: UpkeepInput): Promise<void> {
    const opened = await this.#opened();
    const { clock, logger } = this.#deps;
    await lookAfter({
      ...opened,
      projects: projects.flatMap((project) => this.#upkeepOf(project, opened, signal)),
      isUnfinished: (jobId) => unfinished.has(jobId) || this.#running.has(jobId),
      mirrorLock: this.#repositories.lock,
      memory: this.#upkeepMemory,
      clock,
      logger,
      signal,
    });
  }

  /** What is lent counts most. */
  #envOf(lent: Lent | undefined): Env {
    return { ...this.#deps.env, ...lent?.env };
  }

  #opened(): Promise<OpenedRunner> {
    this.#opening ??= openRunner(this.#deps, this.#afterwards).catch((error: unknown) => {
      // The next turn tries again.
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  readonly #afterwards = (act: () => Promise<void>): void => {
    const done = setImmediate()
      .then(act)
      .finally(() => this.#leftovers.delete(done));
    this.#leftovers.add(done);
  };

  async #contextOf(
    project: ServiceProject,
    given: Pick<RunTurnInput, "signal" | "report" | "ask" | "notes">,
    lent: Lent | undefined,
    logger: Logger,
  ): Promise<TurnContext> {
    const { clock } = this.#deps;
    const env = this.#envOf(lent);
    const { signal, report } = given;
    const opened = await this.#opened();
    const agentEnv = agentEnvOf(project, env);
    const { folders } = opened;
    const { hosted, ...reached } = this.#repositories.of(project, { folders, logger, signal, lent });
    const identity = await (lent?.identity(signal) ?? this.#identities.of(project, hosted, signal));
    return {
      ...given,
      ...opened,
      ...reached,
      committer: { ...identity, signingKeyFile: project.commits.signingKeyFile },
      network: networkOf(project, env),
      agentEnv,
      env,
      clock,
      logger,
      secrets: secretForms(keysOf(project, agentEnv, env)),
      afterwards: this.#afterwards,
      onProgress: (line) => {
        const doing = reached.redact(line);
        report({ lines: [doing], step: sentenceCase(doing) });
      },
      onLeftOut: (what) => this.#logLeftOut(project.id, what, logger),
    };
  }

  #logLeftOut(projectId: string, { upstream, kind, name }: LeftOut, logger: Logger): void {
    const key = [projectId, upstream, kind, name].join(" ");
    if (this.#leftOut.has(key) || this.#leftOut.size >= MAX_LEFT_OUT) return;
    this.#leftOut.add(key);
    logger.warn({ upstream, [kind]: name }, "left out of calls to the model: not on its allow list");
  }

  /** A project's own repository, and those of its context, which have no branches of ours. */
  #upkeepOf(project: ServiceProject, { folders }: OpenedRunner, signal: AbortSignal): UpkeepProject[] {
    const { baseBranch, deleteMergedBranches, pullRequests } = project;
    const { branchPrefix } = pullRequests;
    const reached = this.#repositories.of(project, { folders, logger: this.#deps.logger, signal });
    const { mirror, contextRepositories } = reached;
    return [
      { mirror, codeHost: deleteMergedBranches ? reached.codeHost : null, baseBranch, branchPrefix },
      ...contextRepositories.map((context) => ({
        mirror: context.mirror,
        codeHost: null,
        baseBranch,
        branchPrefix,
      })),
    ];
  }
}
