import type { JobServiceAnswer } from "../rules/ports/job-service.ts";
import { projectKey, type ProjectRef } from "../rules/project.ts";
import { messageOf } from "../../shared/errors.ts";
import type { TaskEnd } from "../../shared/queue/task-queue.ts";
import { retryDelayMs } from "../rules/retry.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";

type Deps = Pick<TaskDeps, "clock" | "rateLimiter" | "logger">;

/**
 * How long not to call the project's job service, milliseconds, because it told one of our replicas
 * to wait. 0 if it may be called.
 */
export async function backoffMs({ clock, rateLimiter }: Deps, project: ProjectRef): Promise<number> {
  const openAt = await rateLimiter.openAt(backoffGate(project));
  // The clock is read afterwards, because without a backoff this is "now", which is then past.
  return Math.max(0, openAt - clock.now());
}

/** Calls a project's job service, unless it has told one of us to wait. */
export async function askJobService(
  deps: Deps,
  project: ProjectRef,
  call: () => Promise<JobServiceAnswer>,
): Promise<JobServiceAnswer> {
  const waitMs = await backoffMs(deps, project);
  if (waitMs > 0) return notAsked(waitMs);
  const answer = await call();
  await heedRetryAfter(deps, project, answer);
  return answer;
}

/** The answer for a call that wasn't made because the job service told us to wait. */
export function notAsked(waitMs: number): JobServiceAnswer {
  const message = `not asked: the job service told us to wait, for another ${Math.ceil(waitMs / 1000)} s`;
  const fault = { kind: "not-created", retryAfterMs: waitMs, message } as const;
  return { ok: false, honorsIdempotencyKeys: false, fault };
}

/**
 * If the job service says when to come back, nobody calls it about that project before. Never
 * rejects: the answer counts.
 */
export async function heedRetryAfter(
  { clock, rateLimiter, logger }: Deps,
  project: ProjectRef,
  answer: JobServiceAnswer,
): Promise<void> {
  const waitMs = answer.ok ? 0 : (answer.fault.retryAfterMs ?? 0);
  if (waitMs === 0) return;
  try {
    await rateLimiter.postpone(backoffGate(project), clock.now() + waitMs);
  } catch (thrown) {
    logger.warn({ error: messageOf(thrown) }, "could not store how long the job service told us to wait");
  }
}

/** Tries a task again after a fault of its job service, if there was one, with a growing delay. */
export function retryLater(
  { clock, random }: Pick<TaskDeps, "clock" | "random">,
  attempt: number,
  reason: string,
  { retryAfterMs = 0 }: { retryAfterMs?: number } = {},
): TaskEnd {
  const delayMs = retryDelayMs({ attempt, retryAfterMs, random: random() });
  return { kind: "retry", dueAt: clock.now() + delayMs, reason };
}

function backoffGate(project: ProjectRef): string {
  return `project:${projectKey(project)}`;
}
