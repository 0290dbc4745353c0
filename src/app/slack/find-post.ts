import type { WebClient } from "@slack/web-api";
import { z } from "zod";
import { slackFault } from "./slack-faults.ts";
import type { SlackIdentity, SlackTeam } from "./slack-team.ts";
import { isOutcomeSlot } from "../rules/turn/delivery.ts";
import type { PostLabel, Search } from "../rules/ports/notifier.ts";
import type { Place } from "../rules/turn/request.ts";

/** The type of our messages' metadata. */
const METADATA_EVENT_TYPE = "docs_agent_turn";

/** Slack's time is known only to the second, and a `Date` header is as old as its answer. */
const MARGIN_MS = 60_000;
/**
 * Slack's page limit for a distributed app outside its Marketplace, which gets one call a minute.
 */
const PAGE_SIZE = 15;
/** Slack reads an empty cursor as the first page. */
const FROM_THE_START = "";

const PostMetadata = z
  .object({
    event_type: z.literal(METADATA_EVENT_TYPE),
    event_payload: z.object({ turn_id: z.string(), post: z.string() }),
  })
  .transform(({ event_payload: { turn_id: turnId, post } }): PostLabel => ({ turnId, post }));

/** True if the app itself wrote a message. Everybody can post metadata like ours. */
export function isOwnPost(
  { user, bot_id: botId }: { user?: string | null | undefined; bot_id?: string | null | undefined },
  identity: Pick<SlackIdentity, "botUserId" | "botId">,
): boolean {
  return (
    (identity.botUserId !== "" && user === identity.botUserId) ||
    (identity.botId !== "" && botId === identity.botId)
  );
}

/** The first line of our message about how a request ended. Null for other messages. */
export function outcomeLineOf(message: {
  text?: string | null | undefined;
  metadata?: unknown;
}): string | null {
  const label = labelIn(message.metadata);
  return label !== null && isOutcomeSlot(label.post) ? (message.text?.split("\n", 1)[0] ?? null) : null;
}

/** The metadata that carries a post's label. */
export function metadataOf(label: PostLabel) {
  return { event_type: METADATA_EVENT_TYPE, event_payload: { turn_id: label.turnId, post: label.post } };
}

/**
 * One search for our post that carries `label`, as in the port. The app has to know who it is. In a
 * channel, the newest messages come first. In a thread, Slack always begins with the root and the
 * oldest reply, so the search begins just before the post can have been sent.
 */
export async function findPost(
  { client, identity }: SlackTeam,
  { channelId, threadTs }: Place,
  label: PostLabel,
  search: Search,
): Promise<{ ts: string | null; next: string | null }> {
  const range = {
    channel: channelId,
    oldest: (Math.max(0, search.sentAtMs - MARGIN_MS) / 1000).toFixed(6),
    limit: PAGE_SIZE,
    include_all_metadata: true,
    ...(search.cursor === null || search.cursor === FROM_THE_START ? {} : { cursor: search.cursor }),
  };
  try {
    const { messages = [], response_metadata } =
      threadTs === null
        ? await client.conversations.history(range)
        : await client.conversations.replies({ ...range, ts: threadTs });
    const found = messages.find((message) => {
      if (message.ts === threadTs || !isOwnPost(message, identity)) return false;
      const known = labelIn(message.metadata);
      return known?.turnId === label.turnId && known.post === label.post;
    });
    if (found?.ts !== undefined) return { ts: found.ts, next: null };
    return { ts: null, next: response_metadata?.next_cursor || null };
  } catch (thrown) {
    const { error } = slackFault(thrown);
    // Cursors expire.
    if (error === "invalid_cursor") return { ts: null, next: FROM_THE_START };
    // The root may be so new that Slack doesn't show it yet, nor the post.
    if (error === "thread_not_found") return { ts: null, next: null };
    throw thrown;
  }
}

/**
 * Resolves to true if a post that should be in a thread is there. If the thread's root is gone,
 * Slack reportedly posts the reply in the channel instead of refusing it (slack-go issue 1571).
 * Throws on Slack's other errors.
 */
export async function isInThread(client: WebClient, place: Place, ts: string): Promise<boolean> {
  try {
    const { messages } = await client.conversations.replies({
      channel: place.channelId,
      ts: place.threadTs ?? ts,
      oldest: ts,
      inclusive: true,
      limit: PAGE_SIZE,
    });
    return messages?.some((message) => message.ts === ts) ?? true;
  } catch (thrown) {
    if (slackFault(thrown).error === "thread_not_found") return false;
    throw thrown;
  }
}

/** The label that a message's metadata carries, or null. */
function labelIn(metadata: unknown): PostLabel | null {
  return PostMetadata.safeParse(metadata).data ?? null;
}
