import { watchTask } from "../decisions/new-tasks.ts";
import { jobKey } from "../project.ts";
import type { JobRecord, Plan, Read, ThreadRecord, Write } from "../records.ts";
import { isFollowing, type Turn } from "../turn/turn.ts";
import { forgottenWrite } from "./forgotten.ts";
import { withoutAgentsWords, withoutPerson } from "./without-person.ts";

/** A job that a person has a part in, or a turn that never got one, with everything about it. */
export type JobOfPerson = {
  /** Null if it is a turn that never got a job. */
  key: string | null;
  /** All its turns. `goes` is true for what the person asked for. */
  turns: { id: string; goes: boolean }[];
  /** The ids of the threads that name one of its turns. */
  threadIds: string[];
  /** The tasks of turns that go, and those for the person. */
  taskIds: string[];
};

/**
 * Forgets a person's part in one job, whole: what they asked for goes, and what is about it. Of
 * others' turns, their words go, and all that the agent was told and said. Decides for nothing, and
 * returns the turn, if one waits or runs, or began after the job was looked at.
 */
export function forgettingInJob(
  read: Read,
  userId: string,
  job: JobOfPerson,
  now: number,
): Plan<Turn | undefined> {
  const turns = job.turns.map((each) => ({ ...each, turn: read("turn", each.id) }));
  const threads = job.threadIds.map((id) => ({ id, thread: read("thread", id) }));
  const open = openTurn(read, job, threads);
  if (open !== undefined) return { value: open };
  const goneIds = new Set(turns.filter(({ goes }) => goes).map(({ id }) => id));
  const known = job.key === null ? undefined : read("job", job.key);
  const left = turns.find(({ id }) => id === known?.pullRequest?.turnId && !goneIds.has(id))?.turn;
  const writes: Write[] = turns.flatMap(({ id, turn, goes }): Write[] => {
    // One that can't be read, or has expired, may still be there.
    if (turn === undefined)
      return [{ kind: "turn", id, record: null }, ...(goes ? [forgottenWrite(id)] : [])];
    if (goes) return [{ kind: "turn", id, record: null }, ...[id, ...answeredBy(turn)].map(forgottenWrite)];
    const marks = answeredBy(turn, userId).map(forgottenWrite);
    const record = withoutAgentsWords(withoutPerson(turn, userId, goneIds));
    return [{ kind: "turn", id, record, keepsEnd: true }, ...marks];
  });
  if (job.key !== null) {
    const isLeft = turns.some(({ goes, turn }) => !goes && turn !== undefined);
    const record = known === undefined || !isLeft ? null : jobWithout(known, goneIds);
    writes.push({ kind: "job", id: job.key, record, keepsEnd: true });
  }
  for (const { id, thread } of threads) {
    const record = thread === undefined ? null : threadWithout(thread, userId, goneIds);
    writes.push({ kind: "thread", id, record, keepsEnd: true });
  }
  const isFollowed = left !== undefined && isFollowing(left, now) && job.taskIds.includes(`watch:${job.key}`);
  const adds = isFollowed ? [watchTask(left, now, true)] : [];
  return { writes, removes: job.taskIds, adds, value: undefined };
}

function jobWithout(
  { newestTurnId, pullRequest, ...job }: JobRecord,
  goneIds: ReadonlySet<string>,
): JobRecord {
  const isNewestKept = newestTurnId !== undefined && !goneIds.has(newestTurnId);
  const isLeftKept = pullRequest !== undefined && !goneIds.has(pullRequest.turnId);
  return { ...job, ...(isNewestKept && { newestTurnId }), ...(isLeftKept && { pullRequest }) };
}

/** A thread's record without a person and the turns that go. Null if no turn is left. */
export function threadWithout(
  thread: ThreadRecord,
  userId: string,
  goneIds: ReadonlySet<string>,
): ThreadRecord | null {
  const { turnIds, muted } = thread;
  const kept = turnIds.filter((id) => !goneIds.has(id));
  if (kept.length === 0) return null;
  return { ...thread, turnIds: kept, ...(muted && { muted: muted.filter((each) => each !== userId) }) };
}

/** A turn of the job that waits or runs, or that the look at the job didn't see. */
function openTurn(
  read: Read,
  { key, turns }: JobOfPerson,
  threads: readonly { thread: ThreadRecord | undefined }[],
): Turn | undefined {
  const ids = new Set(turns.map(({ id }) => id));
  const inJob = key === null ? [] : (read("job", key)?.openTurnIds ?? []);
  const around = [...threads.flatMap(({ thread }) => thread?.turnIds ?? []), ...inJob];
  return [...new Set([...ids, ...around])]
    .flatMap((id) => read("turn", id) ?? [])
    .find((turn) => {
      const isOpen = turn.stage.name !== "ended";
      if (ids.has(turn.id)) return isOpen;
      return (
        (jobKeyOf(turn) === key && key !== null) || (isOpen && ids.has(turn.request.follows?.turnId ?? ""))
      );
    });
}

/** The key of a turn's job. Null if it has none. */
export function jobKeyOf({ job, request }: Turn): string | null {
  return job === null ? null : jobKey(request.project, job.id);
}

/** The messages that were taken as answers to a turn's questions: this person's, or everybody's. */
function answeredBy({ questions = [] }: Turn, userId?: string): string[] {
  return questions.flatMap(({ answer }) =>
    answer?.saidIn === undefined || (userId !== undefined && answer.userId !== userId) ? [] : [answer.saidIn],
  );
}
