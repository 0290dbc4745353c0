import { FRESH_POLL_STATE, gapMs, QUICK_THAT_END, sentJobsOf } from "../rules/turn/watching.ts";
import { jobKey, projectKey, type ProjectRef } from "../rules/project.ts";
import { retryDelayMs } from "../rules/retry.ts";
import {
  faultForLog,
  type ChangesAnswer,
  type JobServiceSuccess,
  type JobServiceFault,
  speaks,
} from "../rules/ports/job-service.ts";
import type { FeedRecord, Step, Write } from "../rules/records.ts";
import type { NewTask, Task } from "../../shared/queue/task-queue.ts";
import { awaitsFirstLook, isFollowing } from "../rules/turn/turn.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import { FeedPayload, watchTask } from "../rules/decisions/new-tasks.ts";
import { readTask } from "../rules/decisions/payload.ts";
import { RecordLostError } from "../rules/decisions/turn-writes.ts";
import { applyAnswer, readWatchedJob } from "./apply-answer.ts";
import { FOLLOW_EVERY_MS, FOLLOW_BY_FEED_EVERY_MS } from "./watch.ts";
import { backoffMs } from "./service-backoff.ts";

/** The service and the client have bounds of their own, seconds. */
const WAIT_S = 60;
/** An answer that comes sooner didn't wait, milliseconds. */
const QUICK_MS = 1_000;
/** After so many faults, a feed that isn't announced any more is given up. */
const FAULTS_THAT_END = 3;
const KEEP_MS = 7 * 24 * 60 * 60_000;

/**
 * Waits for the jobs of a project to change, applies what it hears like the answers of polls, and
 * then moves the cursor. One that runs twice hears the same again, which changes nothing. If the
 * feed breaks off, begins anew or doesn't wait for changes, jobs with open turns are polled at
 * once, and those whose pull request is followed soon.
 */
export async function feed(deps: TaskDeps, given: Task): Promise<Step> {
  const task = readTask(FeedPayload, given);
  const { project, quick } = task.payload;
  const configured = deps.jobServices.of(project);
  if (configured?.service !== project.service) return { kind: "done" };
  const askedAt = deps.clock.now();
  const waitMs = await backoffMs(deps, project);
  if (waitMs > 0) return { kind: "wait", dueAt: askedAt + waitMs };
  const known = await deps.records.get("feed", projectKey(project));
  const cursor = known?.cursor ?? null;
  // A process that died may have died of what it heard, so this run asks without waiting.
  const waitS = cursor !== null && task.deaths === 0 ? WAIT_S : 0;
  const answer = await configured.jobService.changes(cursor, waitS, deps.stopping);
  // Another replica goes on, and hears the same. Here it would end at once, again and again.
  if (deps.stopping.aborted) return { kind: "wait", dueAt: deps.clock.now() + QUICK_MS };
  if (!answer.ok || !speaks(answer, 1)) return breakOff(deps, project, known, answer);
  const news = await Promise.all(
    answer.changed.map((each) => applyEntry(deps, project, { ...answer, ...each }, askedAt)),
  );
  const hasBegun = cursor === null;
  // What changed before it began wasn't heard.
  const adds = hasBegun ? await watchesOf(deps, project, deps.polling.maxMs) : [];
  const now = deps.clock.now();
  const isNew = news.includes(true);
  const isQuick = waitS > 0 && !isNew && now - askedAt < QUICK_MS;
  const next = { project, quick: isQuick ? quick + 1 : 0 };
  // From now on it counts for nothing, and jobs are polled.
  if (next.quick === QUICK_THAT_END) adds.push(...(await watchesOf(deps, project, FOLLOW_EVERY_MS)));
  const dueAt = Math.max(now, askedAt + gapMs({ isNew, quick: next.quick }));
  const faults = hasBegun ? (known?.faults ?? 0) : 0;
  const { waitingReviews } = answer;
  const heard = { cursor: answer.next, heardAt: now, faults, quick: next.quick, waitingReviews };
  return () => ({
    writes: [feedWrite(project, heard)],
    adds,
    value: { kind: "again", dueAt, payload: next },
  });
}

const UNANNOUNCED: JobServiceFault = { kind: "contract", message: "the feed is no longer announced" };

/** Ends with a delay that grows. Jobs are polled from now on, so nothing is lost meanwhile. */
async function breakOff(
  deps: TaskDeps,
  project: ProjectRef,
  known: FeedRecord | undefined,
  answer: ChangesAnswer,
): Promise<Step> {
  const fault = answer.ok ? UNANNOUNCED : answer.fault;
  const faults = (known?.faults ?? 0) + 1;
  const level = faults === 1 ? "warn" : "debug";
  deps.logger[level]({ fault: faultForLog(fault) }, "the feed broke off");
  const isService = ["missing", "rejected", "contract"].includes(fault.kind);
  const isOver = isService && !speaks(answer, 1) && faults >= FAULTS_THAT_END;
  const now = deps.clock.now();
  // Another replica may have heard it, by another clock, so its first fault counts and not its age.
  const adds = known?.faults === 0 ? await watchesOf(deps, project, FOLLOW_EVERY_MS) : [];
  const { retryAfterMs = 0 } = fault;
  const delayMs = retryDelayMs({ attempt: faults, retryAfterMs, random: deps.random() });
  const cursor = fault.status === 410 ? null : (known?.cursor ?? null);
  return () => ({
    writes: [
      feedWrite(project, { cursor, heardAt: known?.heardAt ?? 0, faults, quick: 0, waitingReviews: null }),
    ],
    adds,
    value: isOver ? { kind: "done" } : { kind: "again", dueAt: now + delayMs },
  });
}

function feedWrite(project: ProjectRef, feed: Omit<FeedRecord, "version">): Write {
  return { kind: "feed", id: projectKey(project), record: { version: 1, ...feed }, ttlMs: KEEP_MS };
}

/** Applies what was heard about one job. Returns true if that was new. Unknown jobs are skipped. */
async function applyEntry(
  deps: TaskDeps,
  project: ProjectRef,
  answer: JobServiceSuccess,
  askedAt: number,
): Promise<boolean> {
  try {
    const watched = await readWatchedJob(deps, jobKey(project, answer.job.id));
    if (watched === undefined) return false;
    const now = deps.clock.now();
    const lookAt = now + FOLLOW_BY_FEED_EVERY_MS;
    const logger = deps.logger.child({ job_id: answer.job.id });
    const heard = { answer, askedAt, state: FRESH_POLL_STATE };
    const apply = await applyAnswer({ ...deps, logger }, watched, heard);
    return await deps.commit((read) => {
      const { writes, adds, appends, watched: goOn, followed } = apply(read);
      // The watch of a job without open turns ends, or goes on for its pull request alone.
      const [ended] = watched.open;
      const watches: NewTask[] = [];
      if (goOn.length === 0 && ended !== undefined) watches.push(watchTask(ended, now));
      else if (goOn.length === 0 && followed !== undefined) watches.push(watchTask(followed, lookAt, true));
      return { writes, adds: [...adds, ...watches], appends, value: writes.length > 0 };
    });
  } catch (thrown) {
    // The task that watches the job tells people.
    if (thrown instanceof RecordLostError) return false;
    throw thrown;
  }
}

/**
 * The tasks that poll the project's jobs that go on, soon and not all at once. If only a job's pull
 * request is followed, its task is due within `followedWithinMs`: there may be hundreds of these.
 */
async function watchesOf(deps: TaskDeps, project: ProjectRef, followedWithinMs: number): Promise<NewTask[]> {
  const now = deps.clock.now();
  const ids = new Set(await deps.series.of(sentJobsOf(project)));
  const watches = await Promise.all(
    [...ids].map(async (id): Promise<NewTask[]> => {
      const job = await deps.records.get("job", jobKey(project, id));
      const turnId = job?.openTurnIds[0] ?? job?.pullRequest?.turnId;
      const turn = turnId === undefined ? undefined : await deps.records.get("turn", turnId);
      if (turn === undefined || turn.job === null) return [];
      const isOpen = turn.stage.name === "watching";
      if (!isOpen && !isFollowing(turn, now) && !awaitsFirstLook(turn, now)) return [];
      const withinMs = isOpen ? deps.polling.minMs : followedWithinMs;
      return [watchTask(turn, now + Math.floor(deps.random() * withinMs), !isOpen)];
    }),
  );
  return watches.flat();
}
