import { threadId } from "../core/records.ts";
import type { Posts, ThreadRecord } from "../core/records.ts";
import type { Turn } from "../core/turn.ts";
import type { TaskDeps } from "./deps.ts";

type Deps = { records: Pick<TaskDeps["records"], "threads"> };

/**
 * Notes in the thread's record that the turn's job reports there. Keyv has no compare-and-set, so this reads and writes only
 * in the lane of the thread's channel, where nothing runs beside it.
 */
export async function linkThread(deps: Deps, turn: Turn, posts: Posts): Promise<void> {
  const thread = threadOf(turn, posts);
  if (thread === null || turn.job === null) return;
  const id = threadId(thread);
  const known = await deps.records.threads.get(id);
  const jobIds = known?.jobIds ?? [];
  if (jobIds.includes(turn.job.id)) return;
  await deps.records.threads.set(id, { version: 1, ...thread, jobIds: [...jobIds, turn.job.id] });
}

/** Takes the turn's job out of the thread's record, and the record away with its last job. Same rule as {@link linkThread}. */
export async function unlinkThread(deps: Deps, turn: Turn, posts: Posts): Promise<void> {
  const thread = threadOf(turn, posts);
  if (thread === null || turn.job === null) return;
  const id = threadId(thread);
  const known = await deps.records.threads.get(id);
  if (known === undefined) return;
  const jobIds = known.jobIds.filter((jobId) => jobId !== turn.job?.id);
  if (jobIds.length === 0) await deps.records.threads.delete(id);
  else await deps.records.threads.set(id, { ...known, jobIds });
}

function threadOf(turn: Turn, posts: Posts): Pick<ThreadRecord, "teamId" | "channelId" | "ts"> | null {
  const { channelId, threadTs } = posts.place;
  return threadTs === null ? null : { teamId: turn.request.teamId, channelId, ts: threadTs };
}
