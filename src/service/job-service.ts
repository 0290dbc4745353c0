import { join } from "node:path";
import { within, type Clock, type Logger } from "../shared/machine/ports.ts";
import type { StepOf, Task, TaskCounts } from "../shared/queue/task-queue.ts";
import { messageOf } from "../shared/errors.ts";
import { SqliteTaskQueue } from "../shared/queue/sqlite/sqlite-task-queue.ts";
import type { NoRecords } from "../shared/store/record-types.ts";
import { GroupCommit } from "../shared/store/sqlite/group-commit.ts";
import type { SqliteDatabase } from "../shared/store/sqlite/sqlite-database.ts";
import { AttachmentFiles } from "./jobs/attachment-files.ts";
import type { AnyCommand } from "./commands/command-socket.ts";
import { forget } from "./commands/forget.ts";
import { type CommandResult, runCommand, type StateCommand } from "./commands/run-command.ts";
import type { ServiceMeasure } from "./base/service-measure.ts";
import type { ServiceConfig } from "./config/config.ts";
import type { Env } from "./config/env.ts";
import { createRunnerAccess } from "./jobs/runner-access.ts";
import { Follower } from "./pulls/follow/follower.ts";
import { createIsLive } from "./runner/is-live.ts";
import { JobStore } from "./jobs/job-store.ts";
import { createKeyCheck } from "./jobs/keys.ts";
import { createServiceApp } from "./http/server.ts";
import type { ServiceAppDeps } from "./http/service-app-deps.ts";
import { PendingQuestions } from "./jobs/pending-questions.ts";
import type { ServiceTaskDeps } from "./jobs/service-task-deps.ts";
import { runJob, runJobId, runJobTask } from "./jobs/run-job.ts";
import { RunningTurns } from "./jobs/running-turns.ts";
import { NoteFiles } from "./jobs/note-files.ts";
import { ownStation, RunnerPool } from "./runners/pool.ts";
import { tidy, tidyTask } from "./jobs/tidy.ts";
import { packageVersion } from "../shared/machine/command-line.ts";
import type { Runner } from "./runner/runner.ts";
import { createRunnerApi } from "./http/runner-api.ts";
import { RunnersElsewhere } from "./runners/elsewhere.ts";
import { Lending } from "./runners/lending.ts";
import { ModelDoor } from "./runners/models/model-door.ts";
import { RunnerStore } from "./jobs/runner-store.ts";

export type JobServiceDeps = {
  config: Pick<ServiceConfig, "dataDir" | "projects" | "jobsAtOnce" | "publicBaseUrl" | "keyPrefix"> &
    Partial<Pick<ServiceConfig, "logLevel" | "labels">>;
  /** From `openServiceDatabase`. It must stay open until the service has stopped. */
  database: SqliteDatabase;
  /** The service's own. Null if all turns run elsewhere. */
  runner: Runner | null;
  clock: Clock;
  logger: Logger;
  /** Holds the tokens and secrets that the settings name. */
  env: Env;
  /** @default counts nothing */
  measure?: ServiceMeasure;
};

/** The self-hosted job service with all its parts. It doesn't listen by itself. */
export type SelfHostedJobService = ReturnType<typeof createJobService>;

/** The time in which an aborted runner must stop, milliseconds. */
const ABORT_GRACE_MS = 10_000;
/** A pool for each kind of task. Turns, or a slow code host, don't keep other tasks waiting. */
const POOLS: Record<string, string> = { "run-job": "jobs", follow: "follow", live: "live", edits: "live" };
const ADD_AGAIN_AFTER_MS = 10_000;
/** As many turns as runners elsewhere may have, with as many that wait for them. */
const TURNS_ELSEWHERE = 400;
/** How long a database that could be written counts as one that can be. */
const CHECK_AGAIN_MS = 1000;

/** The parts of the service, and what its tasks and its HTTP interface need of them. */
type Parts = ServiceTaskDeps & {
  config: JobServiceDeps["config"];
  database: SqliteDatabase;
  queue: SqliteTaskQueue<NoRecords>;
  follower: Follower;
  runners: RunnerStore;
  elsewhere: RunnersElsewhere;
  door: ModelDoor;
};

/** Creates the service. Throws if the database isn't the service's. */
export function createJobService(deps: JobServiceDeps) {
  const parts = createParts(deps);
  const { store, queue, pool, clock } = parts;
  const turns = createTurnQueue(parts);
  const handle = handlerOf(parts);
  const underWay = new Set<Promise<unknown>>();

  function expectStop(): void {
    pool.close();
    parts.elsewhere.close();
    store.changes.close();
  }

  return {
    app: createApp(parts, turns),
    store,
    queue,
    runners: parts.runners,
    /** Begins to run accepted turns, including those that an earlier process left. */
    async start(): Promise<void> {
      store.changes.begin();
      store.questions.begin();
      await parts.attachments.sweep();
      await turns.addUnfinished();
      await queue.add(tidyTask());
      await parts.follower.start();
      queue.start((task, { signal }) => {
        const run = handle(task, signal).finally(() => underWay.delete(run));
        underWay.add(run);
        return run;
      });
    },
    /** Carries out a command of the command line. */
    runCommand(command: StateCommand): CommandResult {
      const result = runCommand(command, {
        db: deps.database.db,
        settings: deps.config,
        nowMs: clock.now(),
        logger: deps.logger,
        onEnded: turns.onEnded,
        onAnswered: (id, answer) => parts.questions.answered(id, answer),
      });
      store.changes.look();
      return result;
    },
    /** Carries out any command of the command line. */
    async doCommand(command: AnyCommand): Promise<CommandResult> {
      if (command.name !== "forget") return this.runCommand(command);
      const { db } = deps.database;
      const { dataDir } = deps.config;
      const result = await forget(command, { db, dataDir, nowMs: clock.now(), logger: deps.logger });
      store.changes.look();
      return result;
    },
    /**
     * Starts no more turns, and answers requests that wait for changes. If an agent ends from now
     * on, its turn runs again after the next start, because it may have been stopped together with
     * the service.
     */
    expectStop,
    /** True if a runner elsewhere has work of the service's. */
    hasWorkElsewhere: () => parts.elsewhere.hasWork(),
    /**
     * Starts no more turns, lets running ones continue for `graceMs`, and then aborts them. They
     * run again after the next start.
     */
    async stop(graceMs: number): Promise<void> {
      turns.stop();
      expectStop();
      await queue.stop(graceMs);
      // The queue doesn't wait for the tasks that it aborted, but their agents must be gone before
      // the process ends.
      if (underWay.size > 0) await within(clock, ABORT_GRACE_MS, Promise.allSettled(underWay), null);
      await parts.door[Symbol.asyncDispose]();
    },
  };
}

function createParts(deps: JobServiceDeps): Parts {
  const { config, database, runner, clock, logger, env, measure = () => {} } = deps;
  const { db, assertOwned } = database;
  const store = new JobStore(db);
  const folder = join(config.dataDir, "attachments");
  const pool = new RunnerPool(clock);
  const { jobsAtOnce, labels = [] } = config;
  if (runner !== null) pool.add(ownStation(runner, { places: jobsAtOnce, labels }));
  const runners = new RunnerStore(db);
  const projects = new Map(config.projects.map((project) => [project.id, project]));
  // For each project, enough jobs are claimed to fill each place that becomes free. The others wait
  // in the table only.
  const pools = {
    of: (type: string) => POOLS[type] ?? "others",
    budgets: { jobs: 2 * jobsAtOnce + TURNS_ELSEWHERE, follow: 4, live: 2, others: 16 },
  };
  const commits = new GroupCommit({ db, assertOwned });
  const queue = new SqliteTaskQueue<NoRecords>({ store: { db, commits }, clock, logger, pools });
  const door = new ModelDoor({ logLevel: "info", ...config }, logger);
  const lending = new Lending({ projects, door, version: packageVersion(), env, clock, logger });
  const isLeased = store.isLeased.bind(store);
  const elsewhere = new RunnersElsewhere({ runners, isLeased, pool, lending, clock, logger });
  return {
    config,
    database,
    runners,
    elsewhere,
    door,
    store,
    projects,
    pool,
    stationOf: (turn) => elsewhere.stationOf(turn),
    notes: new NoteFiles(config.dataDir),
    runningTurns: new RunningTurns({ store, logger }),
    questions: new PendingQuestions({ store, clock, logger }),
    attachments: new AttachmentFiles({ folder, needed: () => store.neededAttachments(), logger }),
    queue,
    follower: new Follower({
      store,
      projects,
      queue,
      env,
      clock,
      logger,
      measure,
      isLive: createIsLive(env),
    }),
    clock,
    logger,
    measure,
  };
}

/** How turns that are durable get into the queue. */
type TurnQueue = Pick<ServiceAppDeps, "accept" | "onEnded"> & {
  addUnfinished: () => Promise<void>;
  /** From now on, nothing is added later. */
  stop: () => void;
};

function createTurnQueue(parts: Parts): TurnQueue {
  const { store, queue, runningTurns, attachments, clock, logger, measure } = parts;
  let cancelAddAgain: () => void = () => {};
  let isStopped = false;

  /** A task that can't be added now is added later, or at the next start. */
  async function addTask(jobId: string): Promise<void> {
    try {
      const job = store.job(jobId);
      if (job !== null) await queue.add(runJobTask(jobId, job.projectId));
    } catch (thrown) {
      const fields = { job_id: jobId, error: messageOf(thrown) };
      logger.error(fields, "a job's turns cannot be queued; trying again");
      cancelAddAgain();
      if (isStopped) return;
      cancelAddAgain = clock.wakeAt(clock.now() + ADD_AGAIN_AFTER_MS, () => void addUnfinished());
    }
  }

  async function addUnfinished(): Promise<void> {
    try {
      await Promise.all(store.unfinishedJobs().map(addTask));
    } catch (thrown) {
      logger.error({ error: messageOf(thrown) }, "unfinished turns cannot be read");
    }
  }

  return {
    accept: (request) =>
      queue.commit(() => {
        const value = store.accept(request, clock.now());
        const { id: projectId } = request.project;
        return { value, adds: value.kind === "accepted" ? [runJobTask(value.turn.jobId, projectId)] : [] };
      }),
    onEnded(jobId, canceled) {
      const project = store.job(jobId)?.projectId ?? "";
      const ended = { kind: "turn-ended", project, outcome: "cancelled", tookMs: null, checks: [] } as const;
      for (let n = 0; n < canceled; n += 1) measure(ended);
      runningTurns.abortIfEnded(jobId);
      void attachments.sweep();
      // Even a turn that waited for its retry may have blocked the next one.
      void addTask(jobId);
    },
    addUnfinished,
    stop() {
      isStopped = true;
      cancelAddAgain();
    },
  };
}

/** Runs a task. If one throws, the database has a fault, and the queue tries again in a minute. */
function handlerOf(parts: Parts): (task: Task, stopped: AbortSignal) => Promise<StepOf<NoRecords>> {
  const { attachments, follower } = parts;
  return async (task, stopped) => {
    if (task.type === "run-job") {
      const value = await runJob(parts, task, stopped);
      await attachments.sweep();
      const adds = follower.tasksAfter(runJobId(task));
      return () => ({ value, adds });
    }
    if (task.type === "live") return await follower.lookForLive(task, stopped);
    if (task.type === "edits") return await follower.findEdits(task, stopped);
    if (task.type === "follow") return await follower.run(task, stopped);
    if (task.type === "tidy") return await tidy(parts, stopped);
    return { kind: "dead", reason: `no such type of task: ${task.type}` };
  };
}

function createApp(parts: Parts, { accept, onEnded }: TurnQueue) {
  const { config, database, follower, elsewhere, logger } = parts;
  return createServiceApp({
    ...parts,
    runnerApi: createRunnerApi({ callerOf: (token) => elsewhere.callerOf(token), logger }),
    checkKey: createKeyCheck(database.db),
    runnerAccess: createRunnerAccess(parts),
    lookAtPull: (jobId) => follower.lookNow(jobId),
    isBehind: (jobId) => follower.isBehind(jobId),
    accept,
    onEnded,
    ready: readinessOf(parts),
    takeWebhook: (...delivery) => follower.takeWebhook(...delivery),
    publicBaseUrl: config.publicBaseUrl,
  });
}

function readinessOf({ store, queue, pool, clock }: Parts): () => Promise<TaskCounts> {
  let checkAtMs = 0;
  return async () => {
    // Anybody may ask, and each check waits for the disk.
    if (clock.monotonicMs() >= checkAtMs) {
      await queue.check();
      checkAtMs = clock.monotonicMs() + CHECK_AGAIN_MS;
    }
    const { dead } = await queue.counts();
    const running = pool.taken;
    // Counts jobs rather than tasks, because the service also has tasks of its own.
    return { waiting: Math.max(0, store.unfinishedJobs().length - running), running, dead };
  };
}
