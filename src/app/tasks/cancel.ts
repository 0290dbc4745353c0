import { faultForLog, type JobServiceAnswer } from "../rules/ports/job-service.ts";
import { turnNumber, unwatchTurn, type Turn } from "../rules/turn/turn.ts";
import { turnAfterCancel, turnAfterOwnAnswer } from "../rules/turn/turn-after-answer.ts";
import type { Task } from "../../shared/queue/task-queue.ts";
import { knownLevel, type Step } from "../rules/records.ts";
import { changesOf, readTurnTask, turnNow } from "../rules/decisions/turn-writes.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import { TurnPayload } from "../rules/decisions/payload.ts";
import { jobKey } from "../rules/project.ts";
import { askJobService, retryLater } from "./service-backoff.ts";

/**
 * Attempts stay at least this frequent, so that a stop goes through soon after the job service is
 * back.
 */
const SLOWEST_ATTEMPT = 6;

/**
 * Cancels a turn that somebody stopped, if the job service is of level 1 at that moment.
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
  const { newestTurnId = turnId } =
    (await deps.records.get("job", jobKey(turn.request.project, job.id))) ?? {};
  const isLast = newestTurnId === turnId;

  const seen = await askJobService(deps, turn.request.project, () => jobService.getJob(job.id));
  const level = seen.ok ? (seen.level ?? 0) : knownLevel(await deps.records.get("service", service));
  const now = deps.clock.now();
  const change = (current: Turn): Turn =>
    seen.ok ? turnAfterOwnAnswer(current, seen, now, isLast) : current;
  const number = turnNumber(turn);
  if (level === 0 || (level !== undefined && number === null)) {
    return endCancel(deps, turnId, (current) => unwatchTurn(change(current), now));
  }
  if (!seen.ok || number === null) return after(deps, task, seen);
  if (change(turn).stage.name === "ended") return endCancel(deps, turnId, change);
  const answer = await askJobService(deps, turn.request.project, () => jobService.cancelTurn(job.id, number));
  const answeredAt = deps.clock.now();
  if (answer.ok) {
    deps.logger.info({ job_id: job.id }, "cancel is taken");
    return endCancel(deps, turnId, (current) => turnAfterCancel(current, answer, answeredAt, isLast));
  }
  const { kind } = answer.fault;
  if (kind !== "rejected" && kind !== "missing") return after(deps, task, answer);
  deps.logger.warn({ fault: faultForLog(answer.fault) }, "cancel was refused");
  return endCancel(deps, turnId, (current) => unwatchTurn(current, answeredAt));
}

/** The cancel didn't get through. It is tried again as long as the turn is watched. */
function after(deps: TaskDeps, task: Task, answer: JobServiceAnswer): Step {
  const fault = answer.ok ? undefined : answer.fault;
  if (fault !== undefined) deps.logger.warn({ fault: faultForLog(fault) }, "cancel did not succeed");
  const attempt = Math.min(task.attempt, SLOWEST_ATTEMPT);
  return retryLater(deps, attempt, "the job service did not take the cancel", fault);
}

function endCancel(deps: TaskDeps, turnId: string, change: (turn: Turn) => Turn): Step {
  return (read) => {
    const turn = turnNow(read, turnId);
    const changed = change(turn);
    const { writes, adds } = changesOf(deps, read, changed === turn ? [] : [changed]);
    return { writes, adds, value: { kind: "done" } };
  };
}
