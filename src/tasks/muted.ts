import { threadId } from "../core/records.ts";
import type { Turn } from "../core/turn.ts";
import type { TaskDeps } from "./deps.ts";

/** Who isn't to be mentioned in the thread that a turn reports into. */
export async function mutedIn(
  { records }: Pick<TaskDeps, "records">,
  { request, delivery }: Turn,
): Promise<readonly string[]> {
  const { channelId, threadTs } = delivery;
  if (threadTs === null) return [];
  const thread = await records.thread.get(threadId({ teamId: request.teamId, channelId, ts: threadTs }));
  return thread?.muted ?? [];
}
