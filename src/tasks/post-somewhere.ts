import type { Message } from "../core/notifier.ts";
import type { Posts } from "../core/records.ts";
import type { TaskDeps } from "./deps.ts";
import { postOnce } from "./post-once.ts";
import type { PostedOnce } from "./post-once.ts";

type Deps = Parameters<typeof postOnce>[0] & Pick<TaskDeps, "notifier">;

/**
 * Posts a message where the turn reports; if that place cannot take it, the turn reports to the requester in a direct message
 * from then on. `onAway` runs once, after the move is saved.
 */
export async function postSomewhere(
  deps: Deps,
  posts: Posts,
  slotName: string,
  who: { teamId: string; userId: string },
  message: (posts: Posts) => Message,
  onAway: (error: string) => Promise<void> = async () => {},
): Promise<PostedOnce> {
  const first = await postOnce(deps, who.teamId, posts, slotName, message(posts));
  if (first.ok || first.fault.kind !== "place" || posts.away !== null) return first;

  const { error } = first.fault;
  const dm = await deps.notifier.openDirectMessage(who.teamId, who.userId);
  if (!dm.ok) return { ok: false, posts: first.posts, fault: dm.fault };
  const moved: Posts = {
    ...first.posts,
    place: { channelId: dm.value.channelId, threadTs: null },
    away: error,
  };
  await deps.records.posts.set(moved.turnId, moved);
  deps.logger.warn(
    { error, channel: posts.place.channelId },
    "cannot post there; reporting in a direct message",
  );
  await onAway(error);
  return postOnce(deps, who.teamId, moved, slotName, message(moved));
}
