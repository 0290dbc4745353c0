import type { TaskEnd } from "../../shared/queue/task-queue.ts";
import { boundRetryAfterMs } from "../../shared/machine/retry-after.ts";
import { messageOf } from "../../shared/errors.ts";
import { detailsOf, TransientRunError } from "../base/run-error.ts";
import type { RunTurnResult } from "../runner/runner.ts";
import type { TurnKey } from "./rows.ts";
import type { ServiceTaskDeps } from "./service-task-deps.ts";

/** How many runs of a turn count, including the first, before it is given up. */
export const MAX_ATTEMPTS = 5;

const FIRST_DELAY_MS = 15_000;
const MAX_DELAY_MS = 15 * 60_000;

/** Tries the turn again later, or ends it if it was tried often enough. */
export function failedAttempt(
  deps: ServiceTaskDeps,
  key: TurnKey,
  attempts: number,
  thrown: unknown,
): TaskEnd {
  const reason = messageOf(thrown);
  const details = [...detailsOf(thrown)];
  if (attempts >= MAX_ATTEMPTS) {
    return concludeTurn(deps, key, givenUp(attempts, reason, details));
  }
  const backoffMs = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 4 ** (attempts - 1));
  const askedMs = (thrown instanceof TransientRunError && thrown.retryAfterMs) || 0;
  const dueAt = deps.clock.now() + Math.max(backoffMs, boundRetryAfterMs(askedMs));
  deps.store.postpone(key, reason, dueAt);
  const fields = { job_id: key.jobId, turn: key.number, attempt: attempts, reason, details, due_at: dueAt };
  deps.logger.warn(fields, "turn will be tried again");
  return { kind: "retry", dueAt, reason };
}

/** Ends the turn with its result, unless it has ended, and continues with the job's next turn. */
export function concludeTurn(deps: ServiceTaskDeps, key: TurnKey, result: RunTurnResult): TaskEnd {
  const isEnded = deps.store.end(key, result, deps.clock.now());
  const startedAt = deps.store.turn(key)?.startedAt ?? null;
  const project = deps.store.job(key.jobId)?.projectId;
  const tookMs = startedAt === null ? null : deps.clock.now() - startedAt;
  const fields = {
    project,
    job_id: key.jobId,
    turn: key.number,
    outcome: result.kind,
    pull_request: result.kind === "pull-request" ? result.prLink : null,
    ms: tookMs,
  };
  if (isEnded && project !== undefined) {
    const checks = "checks" in result ? (result.checks ?? []) : [];
    deps.measure({ kind: "turn-ended", project, outcome: result.kind, tookMs, checks });
  }
  if (!isEnded) deps.logger.info(fields, "turn ended after it was canceled, or its job archived");
  else if (result.kind === "failed") {
    const { reason, details = [] } = result;
    deps.logger.error({ ...fields, reason, details }, "turn failed");
  } else deps.logger.info(fields, "turn ended");
  return nextOfJob(deps, key.jobId);
}

/** The result of a turn that isn't tried again. */
export function givenUp(attempts: number, reason: string, details: string[] = []): RunTurnResult {
  return { kind: "failed", reason: `${reason} Gave up after ${attempts} attempts.`, details };
}

/** Continues with the job's next turn, if there is one. */
export function nextOfJob({ store, clock }: ServiceTaskDeps, jobId: string): TaskEnd {
  return store.oldestUnfinished(jobId) === null ? { kind: "done" } : { kind: "again", dueAt: clock.now() };
}
