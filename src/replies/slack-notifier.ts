import type { WebClient } from "@slack/web-api";
import { z } from "zod";
import type { Logger } from "../core/logger.ts";
import type { Message, Notifier, NotifierAnswer, Place, PostLabel } from "../core/notifier.ts";
import { messageOf } from "../errors.ts";
import type { Rendered } from "./blocks.ts";
import { render } from "./render.ts";
import type { Look } from "./look.ts";
import { isContentRefused, slackFault } from "./slack-faults.ts";

/** The type of the metadata that our messages carry. */
export const METADATA_EVENT_TYPE = "docs_agent_turn";

/** Slack's clock and ours may differ by this much when we look for a post of ours. */
const CLOCK_SKEW_MS = 5 * 60_000;
const PAGE_SIZE = 200;
const MAX_PAGES = 10;

const PostMetadata = z.object({
  event_type: z.literal(METADATA_EVENT_TYPE),
  event_payload: z.object({ turn_id: z.string(), post: z.string() }),
});

type SlackNotifierOptions = {
  client: WebClient;
  look: Look;
  logger: Logger;
  /** For one request to a response URL, milliseconds. */
  timeoutMs: number;
};

/** Says things in Slack through its Web API. */
export function createSlackNotifier({ client, look, logger, timeoutMs }: SlackNotifierOptions): Notifier {
  return {
    async post(place, message, label) {
      const sent = await answer(async () => {
        const posted = await withPlainFallback(logger, render(message, look), (content) =>
          client.chat.postMessage({
            channel: place.channelId,
            ...(place.threadTs === null ? {} : { thread_ts: place.threadTs }),
            ...content,
            metadata: metadataOf(label),
            parse: "none",
            unfurl_links: false,
            unfurl_media: false,
          }),
        );
        const isThreadSaid = place.threadTs === null || posted.message?.thread_ts !== undefined;
        return { ts: z.string().parse(posted.ts), isThreadSaid };
      });
      if (!sent.ok) return sent;
      const { ts, isThreadSaid } = sent.value;
      if (!isThreadSaid && (await takeBackOutsideThread(client, place, ts))) {
        return { ok: false, fault: { kind: "place", error: "thread_not_found" } };
      }
      return { ok: true, value: { ts } };
    },

    async find(place, label, sinceMs) {
      return answer(async () => ({ ts: await findPost(client, place, label, sinceMs) }));
    },

    async update({ channelId, ts }, message, label) {
      return answer(async () => {
        await withPlainFallback(logger, render(message, look), (content) =>
          client.chat.update({
            channel: channelId,
            ts,
            ...content,
            metadata: metadataOf(label),
            parse: "none",
          }),
        );
        return null;
      });
    },

    async whisper(place, userId, message) {
      return answer(async () => {
        await client.chat.postEphemeral({
          channel: place.channelId,
          user: userId,
          ...(place.threadTs === null ? {} : { thread_ts: place.threadTs }),
          ...render(message, look),
          parse: "none",
        });
        return null;
      });
    },

    async openDirectMessage(userId) {
      return answer(async () => {
        const opened = await client.conversations.open({ users: userId }).catch((thrown: unknown) => {
          // Without im:write, posting to the person's own id reaches their direct messages all the same.
          if (slackFault(thrown).error === "missing_scope") return { channel: { id: userId } };
          throw thrown;
        });
        return { channelId: z.string().parse(opened.channel?.id) };
      });
    },

    async tellPrivately(responseUrl, message) {
      return tellPrivately(responseUrl, message, look, timeoutMs);
    },
  };
}

async function answer<T>(call: () => Promise<T>): Promise<NotifierAnswer<T>> {
  try {
    return { ok: true, value: await call() };
  } catch (thrown) {
    return { ok: false, fault: slackFault(thrown) };
  }
}

/** Our messages stay inside Slack's limits; should Slack still dislike the blocks, the words go out without them. */
async function withPlainFallback<T>(
  logger: Logger,
  content: Rendered,
  send: (content: { text: string; blocks?: Rendered["blocks"] }) => Promise<T>,
): Promise<T> {
  try {
    return await send(content);
  } catch (thrown) {
    if (!isContentRefused(thrown)) throw thrown;
    logger.error({ error: messageOf(thrown) }, "Slack refused our blocks; sending the text alone");
    return send({ text: content.text });
  }
}

function metadataOf(label: PostLabel) {
  return { event_type: METADATA_EVENT_TYPE, event_payload: { turn_id: label.turnId, post: label.post } };
}

async function findPost(
  client: WebClient,
  place: Place,
  label: PostLabel,
  sinceMs: number,
): Promise<string | null> {
  const oldest = ((sinceMs - CLOCK_SKEW_MS) / 1000).toFixed(6);
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const range = {
      channel: place.channelId,
      oldest,
      limit: PAGE_SIZE,
      include_all_metadata: true,
      ...(cursor === undefined ? {} : { cursor }),
    };
    const result =
      place.threadTs === null
        ? await client.conversations.history(range)
        : await client.conversations.replies({ ...range, ts: place.threadTs });
    for (const message of result.messages ?? []) {
      const metadata = PostMetadata.safeParse(message.metadata);
      if (!metadata.success || message.ts === undefined) continue;
      const { turn_id, post } = metadata.data.event_payload;
      if (turn_id === label.turnId && post === label.post) return message.ts;
    }
    cursor = result.response_metadata?.next_cursor;
    if (cursor === undefined || cursor === "") return null;
  }
  return null;
}

/**
 * Where the thread's root is gone, Slack is reported to post the reply in the channel instead of refusing it, which shows in the
 * answer's lack of a `thread_ts` (slack-go issue 1571). Such a post is out of place: takes it back. Returns whether it did; only
 * what is certainly outside the thread is touched.
 */
async function takeBackOutsideThread(client: WebClient, place: Place, ts: string): Promise<boolean> {
  try {
    if (await isInThread(client, place, ts)) return false;
    await client.chat.delete({ channel: place.channelId, ts });
    return true;
  } catch {
    return false;
  }
}

async function isInThread(client: WebClient, place: Place, ts: string): Promise<boolean> {
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

async function tellPrivately(
  responseUrl: string,
  message: Message,
  look: Look,
  timeoutMs: number,
): Promise<NotifierAnswer<null>> {
  try {
    const response = await fetch(responseUrl, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ response_type: "ephemeral", replace_original: false, ...render(message, look) }),
      redirect: "error",
      signal: AbortSignal.timeout(timeoutMs),
    });
    await response.body?.cancel();
    if (response.ok) return { ok: true, value: null };
    // Used up or too old: five uses in thirty minutes.
    return { ok: false, fault: { kind: "place", error: `http_${response.status}` } };
  } catch (thrown) {
    return { ok: false, fault: { kind: "unknown", error: messageOf(thrown) } };
  }
}
