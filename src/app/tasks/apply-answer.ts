import {
  expireTurn,
  type Polled,
  type PollState,
  showsEarlierTurn,
  turnAfterPoll,
  waitForOwnTurn,
} from "../rules/turn/watching.ts";
import { type JobServiceAnswer, speaks } from "../rules/ports/job-service.ts";
import { type JobRecord, type Plan, type Read, type Write, keyOfWrite, readAfter } from "../rules/records.ts";
import type { NewTask } from "../../shared/queue/task-queue.ts";
import { shownWith } from "../rules/thread/follow-up.ts";
import { historyAppends, historyOf, mayBeOverdue, usualOf, withOverdue } from "../rules/turn/overdue.ts";
import { withPullRequest } from "../rules/turn/reported-pull-request.ts";
import { askedAgainWrites } from "../rules/thread/same-request.ts";
import { linkedAppends } from "../rules/thread/request-list.ts";
import {
  awaitsFirstLook,
  endTurn,
  isAsking,
  isFollowing,
  type Turn,
  turnNumber,
} from "../rules/turn/turn.ts";
import { changesOf, RecordLostError, threadOf, turnWrites } from "../rules/decisions/turn-writes.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import { newsTasks, previewTasks, refreshTasks, sessionTask } from "../rules/decisions/new-tasks.ts";
import { turnPayload } from "../rules/decisions/payload.ts";
import type { Append } from "../../shared/store/series.ts";

/**
 * How many of a job's open turns an answer is applied to, oldest first. A job works on its turns
 * one after the other.
 */
export const POLLED_TURNS_MAX = 100;

/** A job's record, and its open turns that are watched. Both were read before the job was asked. */
type WatchedJob = { key: string; job: JobRecord; open: readonly Turn[] };

/** Reads a job that is watched. Undefined if there is no readable record of it. */
export async function readWatchedJob(
  { records }: Pick<TaskDeps, "records">,
  key: string,
): Promise<WatchedJob | undefined> {
  const job = await records.get("job", key);
  if (job === undefined) return undefined;
  const turns = await Promise.all(
    job.openTurnIds.slice(0, POLLED_TURNS_MAX).map((id) => records.get("turn", id)),
  );
  if (turns.length > 0 && turns.every((turn) => turn === undefined)) {
    throw new RecordLostError(`There is no readable record of a turn of job ${key}.`);
  }
  return { key, job, open: turns.flatMap((turn) => (turn?.stage.name === "watching" ? [turn] : [])) };
}

/** What was heard about a job, by a poll or otherwise. */
export type Heard = {
  /** Null if nobody was asked. */
  answer: JobServiceAnswer | null;
  /** When the job was asked, epoch milliseconds. */
  askedAt: number;
  /** What is remembered between polls, after this answer. */
  state: PollState;
  /** True if turns that are past their deadline end now. */
  isConfirmedLate?: boolean;
  /** True if the job's project is no longer configured. */
  isUnconfigured?: boolean;
  /** The thread that the logger names, if it names one. */
  thread?: string | null;
};

/** What follows for a job's turns. `watched` are those that go on. */
type Applied = Required<Pick<Plan<unknown>, "writes" | "adds" | "appends">> & {
  watched: Turn[];
  /** True if turns came into view that the answer wasn't applied to. */
  hasMore: boolean;
  /** The turn that left the job's pull request, if that is followed. */
  followed: Turn | undefined;
};

/**
 * Applies what a job service says about one job to the job's turns: ends those that have ended, and
 * notes what has changed. Polls and feeds share it. Returns a decision, which is safe to
 * repeat, also with an older answer.
 */
export async function applyAnswer(
  deps: TaskDeps,
  { key, job, open }: WatchedJob,
  heard: Heard,
): Promise<(read: Read) => Applied> {
  const { answer, askedAt, state } = heard;
  const usual =
    answer?.ok === true && open.some((turn) => mayBeOverdue(turn, askedAt))
      ? usualOf(await deps.series.of(historyOf(job.project)))
      : null;
  // A turn that began later, such as a message, may be younger than the answer.
  const asked = new Map(open.map(({ id, watch }) => [id, watch]));
  const change = (turn: Turn, earlier: readonly Polled[]): Turn => {
    if (turn.stage.name !== "watching") return turn;
    if (heard.isUnconfigured === true) return endTurn(turn, "rejected", askedAt, { reason: "project" });
    const isAsked = asked.get(turn.id) === turn.watch;
    const isLast = (job.newestTurnId ?? turn.id) === turn.id;
    const polled =
      answer === null || !isAsked
        ? turn
        : turnAfterPoll(turn, state, answer, deps.clock.now(), { earlier, isLast });
    if (polled.stage.name === "ended") return polled;
    const next = heard.isConfirmedLate === true ? expireTurn(polled, askedAt, deps.polling) : polled;
    return isAsked ? withOverdue(next, usual, askedAt) : next;
  };
  const polled: Polled[] = [];
  const shows: NewTask[] = [];
  for (const turn of open) {
    const next = change(turn, polled);
    polled.push({ turn, next });
    if (isSeenAtWork(next, answer)) shows.push(...showWork(deps, next));
  }
  const now = deps.clock.now();
  return (read) => {
    const turns: Polled[] = [];
    for (const turn of job.openTurnIds.slice(0, POLLED_TURNS_MAX).flatMap((id) => read("turn", id) ?? [])) {
      turns.push({ turn, next: change(turn, turns) });
    }
    const ending = turns.filter(({ turn, next }) => next !== turn && next.stage.name === "ended");
    const coming = job.openTurnIds.slice(POLLED_TURNS_MAX, POLLED_TURNS_MAX + ending.length);
    for (const turn of coming.flatMap((id) => read("turn", id) ?? [])) {
      const isEarlierTurn = answer?.ok === true && showsEarlierTurn(turn, turns);
      turns.push({ turn, next: isEarlierTurn ? waitForOwnTurn(turn, answer, now) : turn });
    }
    const changed = turns.filter(({ turn, next }) => next !== turn).map(({ next }) => next);
    const [first] = changed;
    // A task that was added before the thread existed doesn't name it.
    const logger =
      first === undefined || typeof heard.thread === "string"
        ? deps.logger
        : deps.logger.child({ thread: turnPayload(first).thread });
    const { writes, adds } = changesOf({ ...deps, logger }, read, changed);
    const written = new Map(writes.map((write) => [keyOfWrite(write), write]));
    const following = followingChanges(deps, readAfter(read, written), key, answer);
    for (const write of following.writes) written.set(keyOfWrite(write), write);
    return {
      writes: [...written.values()],
      // Added in the commit that ends the turn, so that each turn counts once.
      appends: [...historyAppends(job.project, turns, deps.retentionMs), ...following.appends],
      adds: [...adds, ...following.adds, ...shows],
      watched: turns.map(({ next }) => next).filter((turn) => turn.stage.name === "watching"),
      hasMore: coming.length > 0,
      followed: following.followed,
    };
  };
}

/** True if the agent is working on the turn and isn't waiting for an answer. */
function isSeenAtWork(turn: Turn, answer: JobServiceAnswer | null): boolean {
  const { stage, stop } = turn;
  if (answer === null || !answer.ok || answer.job.status !== "active") return false;
  if (stage.name !== "watching" || stop !== undefined) return false;
  return stage.progress?.isWaiting !== true && !isAsking(turn);
}

/** The tasks that it takes: none, but where Slack hasn't said yet whether threads have sessions. */
function showWork({ workStatus }: TaskDeps, turn: Turn): NewTask[] {
  const thread = threadOf(turn);
  if (thread === null) return [];
  const way = workStatus.wayIn(thread);
  if (way === "indicator") workStatus.show(thread);
  return way === undefined ? [{ ...sessionTask(thread), onDuplicate: "pending" }] : [];
}

/**
 * What to write and add when an answer says how a job's pull request stands. `followed` is the turn
 * that left it, if it goes on being followed, or will be once the service has looked at it. Another
 * pull request of the job isn't followed.
 */
function followingChanges(
  deps: Pick<TaskDeps, "clock" | "polling" | "retentionMs">,
  read: Read,
  key: string,
  answer: JobServiceAnswer | null,
): { writes: Write[]; adds: NewTask[]; appends: Append[]; followed: Turn | undefined } {
  const now = deps.clock.now();
  const left = read("job", key)?.pullRequest;
  const before = left === undefined ? undefined : read("turn", left.turnId);
  const nothing = { writes: [], adds: [], appends: [] };
  if (left === undefined || before?.stage.name !== "ended") return { ...nothing, followed: undefined };
  const reporting = answer?.ok === true && speaks(answer, 1) ? answer : null;
  const reported = reporting?.report?.pullRequest ?? null;
  const { url } = left;
  const isAbout = reported !== null && (reported.url ?? reporting?.job.prLink) === url;
  const linkedAt = before.stage.at;
  const takesActs = reporting !== null && speaks(reporting, 2);
  const pullRequest = isAbout
    ? withPullRequest(
        before.pullRequest,
        { ...reported, url },
        {
          url,
          linkedAt,
          now,
          takesActs,
          ...(takesActs && { turns: reporting.report?.turns ?? [], after: turnNumber(before) ?? Infinity }),
        },
      )
    : before.pullRequest;
  if (pullRequest === undefined) {
    const isAwaited = reporting !== null && awaitsFirstLook(before, now);
    return { ...nothing, followed: isAwaited ? before : undefined };
  }
  const turn: Turn = { ...before, pullRequest };
  const followed = isFollowing(turn, now) ? turn : undefined;
  if (pullRequest === before.pullRequest) return { ...nothing, followed };
  const isFirst = before.pullRequest === undefined;
  const keptMs = deps.polling.deadlineMs + deps.retentionMs;
  return {
    writes: [
      ...turnWrites(deps, read, turn, ...shownWith(read, turn)),
      ...(isFirst ? askedAgainWrites(read, turn, keptMs) : []),
    ],
    adds: [...refreshTasks(turn), ...newsTasks(turn), ...previewTasks(turn)],
    appends: isFirst ? linkedAppends(turn.request) : [],
    followed,
  };
}
