import { once } from "node:events";
import { z } from "zod";
import { within, type Clock, type Logger } from "../../shared/machine/ports.ts";
import type { NewTask, Task, TaskEnd } from "../../shared/queue/task-queue.ts";
import { messageOf } from "../../shared/errors.ts";
import { detailsOf, TransientRunError } from "../base/run-error.ts";
import type { AttachmentFiles } from "./attachment-files.ts";
import type { ServiceProject } from "../config/config.ts";
import { projectOfJob, type StoredTurn, type TurnKey } from "./job.ts";
import type { JobStore } from "./job-store.ts";
import { RunnerLostError, type RunTurnResult } from "../runner/turn-runner.ts";
import type { RunnerClient } from "../runner/process/runner-client.ts";
import type { QuestionDesk } from "./pending-questions.ts";
import { ReportWriter } from "./report-writer.ts";
import type { TurnSlots, TurnWatch } from "./turn-slots.ts";
import { MAX_RETRY_AFTER_MS, boundRetryAfterMs } from "../../shared/machine/retry-after.ts";

/** What the service's tasks need. */
export type ServiceTaskDeps = {
  store: JobStore;
  /** The projects by id. */
  projects: ReadonlyMap<string, ServiceProject>;
  slots: TurnSlots;
  watch: TurnWatch;
  questions: QuestionDesk;
  attachments: AttachmentFiles;
  runner: Pick<RunnerClient, "run" | "upkeep">;
  clock: Clock;
  logger: Logger;
};

const Payload = z.object({ jobId: z.string() });

/** How many runs of a turn count, including the first, before it is given up. */
const MAX_ATTEMPTS = 5;
/** How often a turn's own code may hang or crash the runner, which costs other turns a run, too. */
const MAX_DEATHS = 2;
const BROKE_DOWN = "The service broke down while it worked on this.";
const BREAKS_SERVICE =
  "The service broke down twice while it worked on this, so the agent isn't started again.";
const FIRST_DELAY_MS = 15_000;
const MAX_DELAY_MS = 15 * 60_000;
/** How soon, and how seldom at most, it is tried again to write how a turn ended. */
const WRITE_AGAIN_MS = { first: 1000, max: 60_000 };
/**
 * If the service and its agents are stopped together, the service's signal may arrive this long
 * after an agent's end.
 */
const STOP_COMES_WITHIN_MS = 1000;

/**
 * The task that runs a job's turns. Each job has one, so that its turns run in order and never at
 * the same time. It is added again with each accepted turn, so it runs once more after that.
 */
export function runJobTask(jobId: string, projectId: string): NewTask {
  const id = `run-job:${jobId}`;
  return { id, type: "run-job", share: projectId, onDuplicate: "latest", payload: { jobId } };
}

/** The job whose turns this task runs. */
export function runJobId(task: Task): string {
  return Payload.parse(task.payload).jobId;
}

/**
 * Runs the job's oldest unfinished turn once there is room, and then the next one. Safe to run
 * twice: after a crash, the runner starts over with a clean worktree, and a turn that has ended
 * isn't run again.
 */
export async function runJob(deps: ServiceTaskDeps, task: Task, stopped: AbortSignal): Promise<TaskEnd> {
  const { store, projects, slots, clock } = deps;
  const jobId = runJobId(task);
  const job = store.job(jobId);
  if (job === null) return { kind: "dead", reason: `no such job: ${jobId}` };
  const turn = store.oldestUnfinished(jobId);
  if (turn === null) return { kind: "done" };
  if (hasToWait(turn, clock.now())) return { kind: "again", dueAt: turn.dueAt };
  const project = projects.get(job.projectId);
  if (project === undefined) {
    return end(deps, turn, {
      kind: "failed",
      reason: "The project isn't set up anymore.",
      details: [`There is no project ${job.projectId} in the settings. Add it again.`],
    });
  }
  if (turn.deaths >= MAX_DEATHS) return end(deps, turn, { kind: "failed", reason: BREAKS_SERVICE });
  const attempts = attemptsOf(turn);
  if (attempts >= MAX_ATTEMPTS) return end(deps, turn, givenUp(attempts, turn.reason ?? BROKE_DOWN));
  using watched = deps.watch.watch(turn);
  const { signal } = watched;
  const limit = project.limits.jobsAtOnce;
  const release = await slots.take({ projectId: project.id, limit, signal });
  if (release === null) return signal.aborted ? next(deps, jobId) : again(deps);
  try {
    return await runInSlot(deps, turn, projectOfJob(project, job), { stopped, ended: signal });
  } finally {
    release();
  }
}

async function runInSlot(
  deps: ServiceTaskDeps,
  key: TurnKey,
  project: ServiceProject,
  { stopped, ended }: { stopped: AbortSignal; ended: AbortSignal },
): Promise<TaskEnd> {
  const { store, clock } = deps;
  // It may have waited long for its slot.
  const turn = store.turn(key);
  if (turn === null || !store.start(key, clock.now())) return next(deps, key.jobId);
  const { attempts: attempt } = store.turn(key) ?? turn;

  const logger = deps.logger.child({ project: project.id, job_id: key.jobId, turn: key.number });
  const runsAgain = turn.startedAt !== null;
  logger.info({ attempt }, runsAgain ? "turn starts again" : "turn starts");
  const { agent } = project;
  const answerMinutes = agent.kind === "acp" ? agent.answerTimeLimitMinutes : 0;
  const signal = AbortSignal.any([stopped, ended]);
  const over = new AbortController();
  const report = new ReportWriter(clock, turn, (now) => store.setReport(key, now));
  // An attempt that was ended by a stop of the service doesn't count.
  if (runsAgain) report.line(attempt > 1 ? `attempt ${attempt}` : "starts again");
  /**
   * Writes how the run went. If the disk is full, it has room again once the runner has removed the
   * turn's folders, which it does after the run. So this tries again, and the agent doesn't run
   * again because of it. Rejects only if the service stops.
   */
  async function write<T>(act: () => T): Promise<T> {
    const stop: Promise<unknown> = stopped.aborted ? Promise.resolve() : once(stopped, "abort");
    for (let waitMs = WRITE_AGAIN_MS.first; ; waitMs = Math.min(waitMs * 2, WRITE_AGAIN_MS.max)) {
      try {
        return act();
      } catch (thrown) {
        stopped.throwIfAborted();
        logger.error({ error: messageOf(thrown) }, "how a turn went can't be written down; trying again");
        await within(clock, waitMs, stop, null);
      }
    }
  }
  async function takeBack(): Promise<TaskEnd> {
    await write(() => store.takeBack(key));
    logger.info({}, "turn stopped: it runs again after the next start");
    return again(deps);
  }
  let result: RunTurnResult;
  try {
    result = await deps.runner.run({
      jobId: key.jobId,
      number: key.number,
      prompt: turn.prompt,
      words: turn.words,
      requester: turn.requester,
      acceptedAt: turn.acceptedAt,
      pullRequest: store.pullRequestOf(key.jobId),
      closedSeenAt: store.followed.closedSeenAt(key.jobId),
      authors: turn.authors,
      earlierTurns: store.earlierTurns(key),
      attachments: store
        .attachments(key)
        .map(({ id, ...attachment }) => ({ ...attachment, path: deps.attachments.pathOf(id) })),
      project,
      usedBefore: turn.usage,
      signal,
      report: ({ agentRuns, brief, branch, ...news }) => {
        report.add(news);
        try {
          store.note(key, { agentRuns, brief, branch });
        } catch (thrown) {
          // The turn goes on anyway.
          logger.warn({ error: messageOf(thrown) }, "how the turn goes can't be written down");
        }
      },
      ask: deps.questions.forRun(
        key,
        { limitMs: answerMinutes * 60_000, onProgress: (line) => report.line(line) },
        AbortSignal.any([signal, over.signal]),
      ),
    });
    if (result.kind === "failed") for (const line of result.details ?? []) report.line(line);
  } catch (thrown) {
    if (ended.aborted) return next(deps, key.jobId);
    if (stopped.aborted) return await takeBack();
    if (thrown instanceof RunnerLostError) {
      const { by } = thrown;
      await write(() => store.lose(key, by, BROKE_DOWN));
      logger.warn({ by }, "turn lost its runner: it runs again");
      return again(deps);
    }
    for (const line of detailsOf(thrown)) report.line(line);
    return await write(() => failedAttempt(deps, key, attempt, thrown));
  } finally {
    over.abort();
    report.close();
  }
  const isCutOff = result.kind === "failed" && result.isCutOff === true;
  if (isCutOff && (await stopComes(deps))) return takeBack();
  return write(() => end(deps, key, result));
}

/** The service is stopping. The turn waits for the next start. */
function again({ clock }: ServiceTaskDeps): TaskEnd {
  return { kind: "again", dueAt: clock.now() + STOP_COMES_WITHIN_MS };
}

/**
 * Whoever stops the service may also stop its agents, and even before it. Service managers signal
 * all processes.
 */
async function stopComes({ slots, clock }: ServiceTaskDeps): Promise<boolean> {
  if (slots.closed.aborted) return true;
  await within(clock, STOP_COMES_WITHIN_MS, once(slots.closed, "abort"), null);
  return slots.closed.aborted;
}

function failedAttempt(deps: ServiceTaskDeps, key: TurnKey, attempts: number, thrown: unknown): TaskEnd {
  const reason = messageOf(thrown);
  const details = [...detailsOf(thrown)];
  if (attempts >= MAX_ATTEMPTS) {
    return end(deps, key, givenUp(attempts, reason, details));
  }
  const backoffMs = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 4 ** (attempts - 1));
  const askedMs = (thrown instanceof TransientRunError && thrown.retryAfterMs) || 0;
  const dueAt = deps.clock.now() + Math.max(backoffMs, boundRetryAfterMs(askedMs));
  deps.store.postpone(key, reason, dueAt);
  const fields = { job_id: key.jobId, turn: key.number, attempt: attempts, reason, details, due_at: dueAt };
  deps.logger.warn(fields, "turn will be tried again");
  return { kind: "retry", dueAt, reason };
}

function end(deps: ServiceTaskDeps, key: TurnKey, result: RunTurnResult): TaskEnd {
  const isEnded = deps.store.end(key, result, deps.clock.now());
  const startedAt = deps.store.turn(key)?.startedAt ?? null;
  const fields = {
    project: deps.store.job(key.jobId)?.projectId,
    job_id: key.jobId,
    turn: key.number,
    outcome: result.kind,
    pull_request: result.kind === "pull-request" ? result.prLink : null,
    ms: startedAt === null ? null : deps.clock.now() - startedAt,
  };
  if (!isEnded) deps.logger.info(fields, "turn ended after it was canceled, or its job archived");
  else if (result.kind === "failed") {
    const { reason, details = [] } = result;
    deps.logger.error({ ...fields, reason, details }, "turn failed");
  } else deps.logger.info(fields, "turn ended");
  return next(deps, key.jobId);
}

/**
 * How often the turn was started. If it is still marked as running, the service has died, which
 * counts if its agent was started.
 */
function attemptsOf({ attempts, state, agentRuns }: StoredTurn): number {
  return attempts - (state === "running" && !agentRuns ? 1 : 0);
}

function givenUp(attempts: number, reason: string, details: string[] = []): RunTurnResult {
  return { kind: "failed", reason: `${reason} Gave up after ${attempts} attempts.`, details };
}

/**
 * A message that was accepted in the meantime makes the job's task run early, but a turn that waits
 * for its retry still waits.
 */
function hasToWait({ dueAt }: StoredTurn, nowMs: number): boolean {
  // If this is longer than any retry, the machine's clock was set back.
  return dueAt > nowMs && dueAt <= nowMs + MAX_RETRY_AFTER_MS;
}

/** Continues with the job's next turn, if there is one. */
function next({ store, clock }: ServiceTaskDeps, jobId: string): TaskEnd {
  return store.oldestUnfinished(jobId) === null ? { kind: "done" } : { kind: "again", dueAt: clock.now() };
}
