import {
  isFresh,
  isLate,
  isOut,
  nextPollAt,
  type PollState,
  pollStateAfter,
} from "../rules/turn/watching.ts";
import { retryDelayMs } from "../rules/retry.ts";
import { faultForLog } from "../rules/ports/job-service.ts";
import type { Task } from "../../shared/queue/task-queue.ts";
import type { Step } from "../rules/records.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import { applyAnswer, POLLED_TURNS_MAX, readWatchedJob } from "./apply-answer.ts";
import { projectKey, type ProjectRef } from "../rules/project.ts";
import { historyOf, usualOf, type Usual } from "../rules/turn/overdue.ts";
import { askJobService } from "./service-backoff.ts";
import { readTask } from "../rules/decisions/payload.ts";
import { RecordLostError } from "../rules/decisions/turn-writes.ts";
import { feedTasks, WatchPayload } from "../rules/decisions/new-tasks.ts";

/**
 * The time between looks at a job whose pull request alone is followed, milliseconds: where its
 * service tells what changes, and elsewhere.
 */
export const FOLLOW_BY_FEED_EVERY_MS = 60 * 60_000;
export const FOLLOW_EVERY_MS = 10 * 60_000;
/** Over how long such looks are spread once the service, which told us to wait, may be called. */
const SPREAD_MS = 30_000;

/**
 * Polls the job once, ends the turns that have ended, and comes again while one hasn't, or while
 * the job's pull request is followed. Safe to repeat.
 */
export async function watch(deps: TaskDeps, task: Task): Promise<Step> {
  const { payload } = readTask(WatchPayload, task);
  const watched = await readWatchedJob(deps, payload.jobKey);
  if (watched === undefined) {
    // The record of a job that was only followed ends when that does.
    if (payload.isFollowing === true) return { kind: "done" };
    throw new RecordLostError(`There is no readable record of job ${payload.jobKey}.`);
  }
  const { job, open } = watched;
  const askedAt = deps.clock.now();
  // Whoever else ended the turns didn't ask how their pull request stands.
  const isUnasked =
    open.length === 0 &&
    job.pullRequest !== undefined &&
    (await freshFeed(deps, job.project)).feed === undefined;
  const isFollowing = payload.isFollowing === true || isUnasked;
  const isWatched = open.length > 0 || isFollowing;
  const { jobService, service } = deps.jobServices.of(job.project) ?? {};
  if (jobService === undefined && open.length > 0) {
    deps.logger.error({ project: job.project.name }, "the project of this job is no longer configured");
  }
  // Polls even at the deadline, because the job may have ended while this app was off.
  const answer =
    isWatched && jobService !== undefined
      ? await askJobService(deps, job.project, () => jobService.getJob(job.id))
      : null;
  if (answer !== null && !answer.ok) {
    deps.logger.warn({ fault: faultForLog(answer.fault) }, "poll did not succeed");
  }
  const state: PollState = {
    ...(answer === null ? payload.state : pollStateAfter(payload.state, answer, deps.clock.now())),
    isLate: open.some((turn) => isLate(turn, askedAt, deps.polling)),
  };
  const apply = await applyAnswer(deps, watched, {
    answer,
    askedAt,
    state,
    // Two polls in a row must be past the deadline, because the clock may be wrong for a moment.
    isConfirmedLate: payload.state.isLate === true,
    isUnconfigured: jobService === undefined,
    thread: payload.thread,
  });
  const now = deps.clock.now();
  const retryAfterMs = answer !== null && !answer.ok ? (answer.fault.retryAfterMs ?? 0) : 0;
  const feeds = answer?.ok === true ? feedTasks(job.project, service, answer) : [];
  const mayHaveFeed = feeds.length > 0 || (answer === null && service === job.project.service);
  const fresh = mayHaveFeed ? await freshFeed(deps, job.project) : {};
  // Everybody who is told when to come back does so then, and not all at once.
  const againAfterMs =
    retryAfterMs > 0
      ? retryAfterMs + Math.ceil(deps.random() * SPREAD_MS)
      : retryDelayMs({ attempt: state.faults, retryAfterMs, random: deps.random() });
  const at = { now, retryAfterMs, random: deps.random(), policy: deps.polling, ...fresh };
  return (read) => {
    const { watched: goOn, hasMore, followed, ...applied } = apply(read);
    const plan = { ...applied, adds: [...applied.adds, ...feeds] };
    if (goOn.length === 0 && job.openTurnIds.length <= POLLED_TURNS_MAX) {
      const isGone = state.strikes?.kind === "missing" && isOut(state, now);
      const isUnsure = isFollowing && answer?.ok !== true && !isGone;
      if (followed === undefined && !isUnsure) return { ...plan, value: { kind: "done" } };
      const everyMs = at.feed === undefined ? FOLLOW_EVERY_MS : FOLLOW_BY_FEED_EVERY_MS;
      const dueAt = now + (answer === null || answer.ok || isGone ? everyMs : againAfterMs);
      return { ...plan, value: { kind: "again", dueAt, payload: { ...payload, state, isFollowing: true } } };
    }
    // Turns that now come into view may have ended with the others.
    const isDue = hasMore || goOn.length === 0;
    const dueAt = isDue ? now + retryAfterMs : Math.min(...goOn.map((turn) => nextPollAt(turn, state, at)));
    return { ...plan, value: { kind: "again", dueAt, payload: { ...payload, state, isFollowing: false } } };
  };
}

/** What is needed to look less often, if the project's feed is fresh. Else nothing. */
async function freshFeed(
  { records, series, clock }: Pick<TaskDeps, "records" | "series" | "clock">,
  project: ProjectRef,
): Promise<{ feed?: { usual: Usual | null } }> {
  if (!isFresh(await records.get("feed", projectKey(project)), clock.now())) return {};
  return { feed: { usual: usualOf(await series.of(historyOf(project))) } };
}
