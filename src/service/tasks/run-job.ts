import { z } from "zod";
import type { NewTask, Task, TaskResult } from "../../core/task-queue.ts";
import { messageOf } from "../../errors.ts";
import type { ServiceProject } from "../config.ts";
import type { TurnKey } from "../jobs/acceptance.ts";
import { branchOf, type StoredTurn } from "../jobs/job.ts";
import type { RunTurnResult } from "../turn-runner.ts";
import type { ServiceTaskDeps } from "./deps.ts";
import { ProgressTail } from "./progress.ts";

const Payload = z.object({ jobId: z.string(), number: z.int() });

/** Transient errors may say how long the other side wants to be left alone. An hour is the most we do. */
const RetryAfter = z.object({
  retryAfterMs: z
    .number()
    .nonnegative()
    .transform((ms) => Math.min(ms, 60 * 60_000)),
});

/** How often a turn is started before it is given up, the first time included. */
export const MAX_ATTEMPTS = 5;
const FIRST_DELAY_MS = 15_000;
const MAX_DELAY_MS = 15 * 60_000;

/** The task that runs a turn. Tasks of one job are one lane: its turns run one after the other, in order. */
export function runTurnTask({ jobId, number }: TurnKey): NewTask {
  return {
    id: `run-turn:${jobId}:${number}`,
    type: "run-turn",
    payload: { jobId, number },
    lane: `job:${jobId}`,
  };
}

/**
 * Runs a turn once there is room. Runs twice: after a crash the runner starts over from a clean worktree; a turn that has
 * ended is not run again.
 */
export async function runJob(deps: ServiceTaskDeps, task: Task, stopped: AbortSignal): Promise<TaskResult> {
  const added = Payload.parse(task.payload);
  const job = deps.store.job(added.jobId);
  if (job === null) return { kind: "dead", reason: `no such job: ${added.jobId}` };
  // Earlier ones first, should their tasks have come later (the queue could not take one when it was accepted).
  const key = deps.store.oldestUnfinished(added);
  if (key === null) return { kind: "done" };
  const project = deps.projects.get(job.projectId);
  if (project === undefined) {
    const reason = `the project ${job.projectId} is no longer in the settings`;
    end(deps, key, { kind: "failed", reason });
    return { kind: "again", dueAt: deps.clock.now() };
  }
  const release = await deps.slots.take(project.id, project.limits.jobsAtOnce);
  // The service stops: the turn waits on, for the next start.
  if (release === null) return { kind: "again", dueAt: deps.clock.now() };
  try {
    const result = await runInSlot(deps, key, project, stopped);
    const isThrough = result.kind !== "done" || key.number === added.number;
    return isThrough ? result : { kind: "again", dueAt: deps.clock.now() };
  } finally {
    release();
  }
}

async function runInSlot(
  deps: ServiceTaskDeps,
  key: TurnKey,
  project: ServiceProject,
  stopped: AbortSignal,
): Promise<TaskResult> {
  const { store, clock } = deps;
  const turn = store.turn(key);
  if (turn === null || turn.state === "ended") return { kind: "done" };
  // Attempts that neither ended nor failed: the process died in each of them.
  if (turn.attempts >= MAX_ATTEMPTS) return end(deps, key, { kind: "failed", reason: givenUp(turn) });
  if (!store.start(key, clock.now())) return { kind: "done" };

  const logger = deps.logger.child({ project: project.id, job_id: key.jobId, turn: key.number });
  const attempt = turn.attempts + 1;
  logger.info({ attempt }, "turn starts");
  const archive = deps.archives.watch(key.jobId);
  const progress = new ProgressTail(clock, turn.progress, (lines) => store.setProgress(key, lines));
  if (attempt > 1) progress.add(`attempt ${attempt}`);
  let result: RunTurnResult;
  try {
    result = await deps.runTurn({
      jobId: key.jobId,
      branch: branchOf(key.jobId),
      prompt: turn.prompt,
      earlierTurns: store
        .turns(key.jobId)
        .filter(({ number }) => number < key.number)
        .map(({ prompt, summary }) => ({ prompt, summary })),
      project,
      signal: AbortSignal.any([stopped, archive.signal]),
      onProgress: (line) => progress.add(line),
    });
  } catch (thrown) {
    if (archive.signal.aborted) return { kind: "done" };
    if (stopped.aborted) {
      store.suspend(key, { counts: false, reason: null });
      logger.info({}, "turn stopped: it runs again after the next start");
      return { kind: "again", dueAt: clock.now() };
    }
    return failedAttempt(deps, key, { attempts: attempt, thrown });
  } finally {
    archive.end();
    progress.close();
  }
  return end(deps, key, result);
}

function failedAttempt(
  deps: ServiceTaskDeps,
  key: TurnKey,
  { attempts, thrown }: { attempts: number; thrown: unknown },
): TaskResult {
  const reason = messageOf(thrown);
  if (attempts >= MAX_ATTEMPTS) {
    return end(deps, key, { kind: "failed", reason: givenUp({ attempts, reason }) });
  }
  deps.store.suspend(key, { counts: true, reason });
  const backoffMs = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 4 ** (attempts - 1));
  const asked = RetryAfter.safeParse(thrown);
  const dueAt = deps.clock.now() + Math.max(backoffMs, asked.success ? asked.data.retryAfterMs : 0);
  const fields = { job_id: key.jobId, turn: key.number, attempt: attempts, reason, due_at: dueAt };
  deps.logger.warn(fields, "turn will be tried again");
  return { kind: "retry", dueAt, reason };
}

function end(deps: ServiceTaskDeps, key: TurnKey, result: RunTurnResult): TaskResult {
  const isEnded = deps.store.end(key, result, deps.clock.now());
  const fields = { job_id: key.jobId, turn: key.number, outcome: result.kind };
  if (!isEnded) deps.logger.info(fields, "turn ended after its job was archived");
  else if (result.kind === "failed") deps.logger.error({ ...fields, reason: result.reason }, "turn failed");
  else deps.logger.info(fields, "turn ended");
  return { kind: "done" };
}

function givenUp({ attempts, reason }: Pick<StoredTurn, "attempts" | "reason">): string {
  const last = reason ?? "the service ended in the middle of it";
  return `given up after ${attempts} attempts; the last: ${last}`;
}
