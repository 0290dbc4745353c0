import { shownWith } from "../core/turn/follow-up.ts";
import type { JobServiceAnswer } from "../core/ports/job-service.ts";
import type { Read, Write } from "../core/ports/records.ts";
import { withPullRequest } from "../core/turn/pull-request-news.ts";
import { linkedAppends } from "../core/turn/request-list.ts";
import type { Append, NewTask } from "../core/ports/task-queue.ts";
import { isFollowing, type Turn } from "../core/turn/turn.ts";
import type { TaskDeps } from "./deps.ts";
import { newsTasks, refreshTasks } from "./new-tasks.ts";
import { turnWrites } from "./turn-writes.ts";

/** How long after a link the service may take to say how its pull request stands, milliseconds. */
const FIRST_LOOK_MS = 60 * 60_000;

/**
 * What to write and add when an answer says how a job's pull request stands. `followed` is the turn
 * that left it, if it goes on being followed, or will be once the service has looked at it. Another
 * pull request of the job isn't followed.
 */
export function followingChanges(
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
  const told = answer?.ok === true && answer.capabilities?.includes("pull-request") === true ? answer : null;
  const reported = told?.report?.pullRequest ?? null;
  const { url } = left;
  const isAbout = reported !== null && (reported.url ?? told?.job.prLink) === url;
  const linkedAt = before.stage.at;
  const pullRequest = isAbout
    ? withPullRequest(before.pullRequest, { ...reported, url }, { url, linkedAt, now })
    : before.pullRequest;
  if (pullRequest === undefined) {
    const isAwaited = told !== null && now < linkedAt + FIRST_LOOK_MS;
    return { ...nothing, followed: isAwaited ? before : undefined };
  }
  const turn: Turn = { ...before, pullRequest };
  const followed = isFollowing(turn, now) ? turn : undefined;
  if (pullRequest === before.pullRequest) return { ...nothing, followed };
  return {
    writes: turnWrites(deps, read, turn, ...shownWith(read, turn)),
    adds: [...refreshTasks(turn), ...newsTasks(turn)],
    appends: before.pullRequest === undefined ? linkedAppends(turn.request) : [],
    followed,
  };
}
