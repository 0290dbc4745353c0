import { faultForLog, type JobService, type JobServiceAnswer } from "../core/ports/job-service.ts";
import { retryDelayMs } from "../core/job/retry.ts";
import { turnNumber, turnAfterCancel, unwatchTurn, turnAfterAnswer, type Turn } from "../core/turn/turn.ts";
import type { Step, Task } from "../core/ports/task-queue.ts";
import { changesOf, readTurnTask, turnNow } from "../decisions/turn-writes.ts";
import type { TaskDeps } from "../decisions/deps.ts";
import { TurnPayload } from "../decisions/payload.ts";
import { askJobService } from "./project-gate.ts";

/**
 * Attempts stay at least this frequent, so that a stop goes through soon after the job service is
 * back.
 */
const SLOWEST_ATTEMPT = 6;

/**
 * Cancels a turn that somebody stopped, if the job service announces at that moment that it can.
 * Otherwise the turn is no longer watched. A turn that has ended by then keeps its own outcome.
 * Safe to repeat.
 */
export async function cancel(deps: TaskDeps, given: Task): Promise<Step> {
  const { task, turn } = await readTurnTask(deps, TurnPayload, given);
  const turnId = turn.id;
  const { job, stage, stop } = turn;
  const configured = deps.jobServices.of(turn.request.project);
  // If the project is no longer configured, the watch ends by itself.
  if (configured === undefined || job === null) return { kind: "done" };
  if (stage.name !== "watching" || stop === undefined || stop.isTaken === true) return { kind: "done" };
  const { jobService, service } = configured;

  const seen = await askJobService(deps, turn.request.project, () => jobService.getJob(job.id));
  const { capabilities = [] } = seen;
  const offered = seen.ok ? capabilities : (await deps.records.service.get(service))?.capabilities;
  const now = deps.clock.now();
  const change = (current: Turn): Turn => (seen.ok ? turnAfterAnswer(current, seen, now) : current);
  const number = turnNumber(turn);
  if (offered !== undefined && (number === null || !offered.includes("cancel"))) {
    return endCancel(deps, turnId, (current) => unwatchTurn(change(current), now));
  }
  if (!seen.ok || number === null) return after(deps, task, seen);
  if (change(turn).stage.name === "ended") return endCancel(deps, turnId, change);
  return canceled(deps, task, turn, { jobService, jobId: job.id, number });
}

async function canceled(
  deps: TaskDeps,
  task: Task,
  turn: Turn,
  { jobService, jobId, number }: { jobService: JobService; jobId: string; number: number },
): Promise<Step> {
  const answer = await askJobService(deps, turn.request.project, () => jobService.cancelTurn(jobId, number));
  const now = deps.clock.now();
  if (answer.ok) {
    deps.logger.info({ job_id: jobId }, "cancel is taken");
    return endCancel(deps, turn.id, (current) => turnAfterCancel(current, answer, now));
  }
  const { kind } = answer.fault;
  if (kind !== "rejected" && kind !== "missing") return after(deps, task, answer);
  deps.logger.warn({ fault: faultForLog(answer.fault) }, "cancel was refused");
  return endCancel(deps, turn.id, (current) => unwatchTurn(current, now));
}

/** The cancel didn't get through. It is tried again as long as the turn is watched. */
function after(deps: TaskDeps, task: Task, answer: JobServiceAnswer): Step {
  if (!answer.ok) deps.logger.warn({ fault: faultForLog(answer.fault) }, "cancel did not succeed");
  const delayMs = retryDelayMs({
    attempt: Math.min(task.attempt, SLOWEST_ATTEMPT),
    retryAfterMs: answer.ok ? 0 : (answer.fault.retryAfterMs ?? 0),
    random: deps.random(),
  });
  const reason = "the job service did not take the cancel";
  return { kind: "retry", dueAt: deps.clock.now() + delayMs, reason };
}

function endCancel(deps: TaskDeps, turnId: string, change: (turn: Turn) => Turn): Step {
  return (read) => {
    const turn = turnNow(read, turnId);
    const changed = change(turn);
    if (changed === turn) return { value: { kind: "done" } };
    const { writes, adds } = changesOf(deps, read, [changed]);
    return { writes, adds, value: { kind: "done" } };
  };
}
