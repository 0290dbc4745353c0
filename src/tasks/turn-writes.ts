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

type Deps = Pick<TaskDeps, "clock" | "polling" | "retentionMs">;

/** What to write when a turn has changed: the turn, its job, and the job's entry in the thread it reports into. */
export function turnWrites(deps: Deps, read: Read, turn: Turn): Write[] {
  const ttlMs = keepTurnMs(turn, deps.clock.now(), deps.polling, deps.retentionMs);
  const writes: Write[] = [{ kind: "turn", id: turn.id, record: turn, ttlMs }];
  if (turn.job === null) return writes;
  const { project, teamId } = turn.request;
  const { channelId, threadTs } = turn.delivery;
  const key = jobKey(project, turn.job.id);
  const thread = threadTs === null ? null : { teamId, channelId, ts: threadTs };
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
  // Its end, or its being watched again, changes how long all of it is kept.
  const isOtherStage = read("turn", turn.id)?.stage.name !== turn.stage.name;
  if (known === undefined || !isSameJob(known, job) || isOtherStage) {
    writes.push({ kind: "job", id: key, record: job, ttlMs: isWatched ? longestMs : ttlMs });
  }
  if (thread === null) return writes;
  const id = threadId(thread);
  const knownThread = read("thread", id);
  const jobKeys = knownThread?.jobKeys ?? [];
  if (isOtherStage || !jobKeys.includes(key)) {
    // Jobs that are no longer kept leave the thread with the next write.
    const kept = jobKeys.filter((other) => other === key || read("job", other) !== undefined);
    const record = { ...knownThread, version: 2 as const, ...thread, jobKeys: [...new Set([...kept, key])] };
    writes.push({ kind: "thread", id, record, ttlMs: longestMs });
  }
  return writes;
}

function isSameJob(a: JobRecord, b: JobRecord): boolean {
  return (
    a.thread?.ts === b.thread?.ts &&
    a.thread?.channelId === b.thread?.channelId &&
    a.turnIds.length === b.turnIds.length
  );
}
