import type { Outcome } from "../core/outcome.ts";
import { jobKey } from "../core/project.ts";
import { threadId } from "../core/records.ts";
import type { JobRecord, Read, Write } from "../core/records.ts";
import { keepTurnMs } from "../core/turn.ts";
import type { Turn } from "../core/turn.ts";
import { DocsAgentError } from "../errors.ts";
import type { TaskDeps } from "./deps.ts";

/** Thrown when a task's record is not there any more, or does not parse. Repeating changes nothing. */
export class RecordLostError extends DocsAgentError {
  readonly code = "record_lost";
}

/** The turn as it is now. Throws a {@link RecordLostError}. */
export function requireTurn(turn: Turn | undefined, turnId: string): Turn {
  if (turn !== undefined) return turn;
  throw new RecordLostError(`There is no readable record of turn ${turnId}.`);
}

/** How a turn ended, as it goes to the log. */
export function endedForLog({ kind, reason, tookMs, told, stoppedBy }: Outcome): Record<string, unknown> {
  return {
    outcome: kind,
    ...(told === undefined ? {} : { told: told.outcome }),
    ...(stoppedBy === undefined ? {} : { stopped: true }),
    reason,
    took_ms: tookMs,
  };
}

/** The turns of the same job before this one, oldest first. */
export function earlierTurns(read: Read, { id, job, request }: Turn): Turn[] {
  if (job === null) return [];
  const turnIds = read("job", jobKey(request.project, job.id))?.turnIds ?? [];
  const earlier = turnIds.includes(id) ? turnIds.slice(0, turnIds.indexOf(id)) : turnIds;
  return earlier.flatMap((turnId) => read("turn", turnId) ?? []);
}

/** The turns that the status message of a turn shows, that one first. */
export function shownBy(read: Read, turn: Turn): Turn[] {
  return [turn, ...(turn.delivery.alsoShows ?? []).flatMap((id) => read("turn", id) ?? [])];
}

type Deps = Pick<TaskDeps, "clock" | "polling" | "retentionMs">;

/** The most turns that a thread's record names. */
const THREAD_TURNS_MAX = 100;

/** What to write when a turn has changed: the turn, its job, and their entries in the thread it reports into. */
export function turnWrites(deps: Deps, read: Read, turn: Turn): Write[] {
  const ttlMs = keptMs(deps, read, turn);
  const writes: Write[] = [{ kind: "turn", id: turn.id, record: turn, ttlMs }];
  const { project, teamId } = turn.request;
  const { channelId, threadTs } = turn.delivery;
  const thread = threadTs === null ? null : { teamId, channelId, ts: threadTs };
  const key = turn.job === null ? null : jobKey(project, turn.job.id);
  // Its end, or its being watched again, changes how long all of it is kept.
  const isOtherStage = key !== null && read("turn", turn.id)?.stage.name !== turn.stage.name;
  if (thread !== null) writes.push(...threadWrites(deps, read, { thread, turn, key, isOtherStage }));
  if (turn.job === null || key === null) return writes;
  const known = read("job", key);
  const job: JobRecord = {
    ...known,
    version: 2,
    id: turn.job.id,
    project,
    thread: thread ?? known?.thread ?? null,
    turnIds: [...new Set([...(known?.turnIds ?? []), turn.id])],
    createdAt: known?.createdAt ?? deps.clock.now(),
  };
  // As long as the turn that is kept longest.
  const isWatched = job.turnIds.some((id) => {
    const other = id === turn.id ? turn : read("turn", id);
    return other !== undefined && other.stage.name !== "ended";
  });
  const longestMs = deps.polling.deadlineMs + deps.retentionMs;
  if (known === undefined || !isSameJob(known, job) || isOtherStage) {
    writes.push({ kind: "job", id: key, record: job, ttlMs: isWatched ? longestMs : ttlMs });
  }
  return writes;
}

/** A turn is kept as long as those that its status message shows. */
function keptMs({ clock, polling, retentionMs }: Deps, read: Read, turn: Turn): number {
  return Math.max(...shownBy(read, turn).map((each) => keepTurnMs(each, clock.now(), polling, retentionMs)));
}

function threadWrites(
  { polling, retentionMs }: Deps,
  read: Read,
  changed: {
    thread: { teamId: string; channelId: string; ts: string };
    turn: Turn;
    key: string | null;
    isOtherStage: boolean;
  },
): Write[] {
  const { thread, turn, key, isOtherStage } = changed;
  const id = threadId(thread);
  const known = read("thread", id);
  const jobKeys = known?.jobKeys ?? [];
  const turnIds = known?.turnIds ?? [];
  const isKnown = turnIds.includes(turn.id) && (key === null || jobKeys.includes(key));
  if (isKnown && !isOtherStage) return [];
  // Jobs that are no longer kept leave the thread with the next write.
  const kept = jobKeys.filter((other) => other === key || read("job", other) !== undefined);
  const withheld = new Set([...(known?.withheld ?? []), ...(turn.request.context?.withheld ?? [])]);
  const record = {
    ...known,
    version: 2 as const,
    ...thread,
    ...(withheld.size === 0 ? {} : { withheld: [...withheld] }),
    jobKeys: [...new Set([...kept, ...(key === null ? [] : [key])])],
    turnIds: [...new Set([...turnIds, turn.id])].slice(-THREAD_TURNS_MAX),
  };
  return [{ kind: "thread", id, record, ttlMs: polling.deadlineMs + retentionMs }];
}

function isSameJob(a: JobRecord, b: JobRecord): boolean {
  return (
    a.thread?.ts === b.thread?.ts &&
    a.thread?.channelId === b.thread?.channelId &&
    a.turnIds.length === b.turnIds.length
  );
}
