import { within, type Clock } from "../../shared/machine/ports.ts";
import type { NotifierFault } from "../rules/ports/notifier.ts";
import type { ThreadMessage } from "../rules/turn/request.ts";
import { compareTs, newestOf, THREAD_MAX_MESSAGES } from "../rules/thread/messages-to-share.ts";
import type { ThreadRead, ThreadReader, ThreadPosition } from "../rules/thread/messages-to-share.ts";
import { isOwnPost, outcomeLineOf } from "./find-post.ts";
import { slackFault } from "./slack-faults.ts";
import type { SlackDeps, SlackIdentity } from "./slack-team.ts";
import { parseMessageText } from "./message/message-text.ts";
import { threadMessage, ReceivedMessage } from "./message/slack-message.ts";
import type { WebClient } from "@slack/web-api";

/** Time for all pages together. */
const WITHIN_MS = 5_000;
/** Subtypes of messages that people or apps wrote. Others report on the channel or are deleted. */
const SAID: ReadonlySet<string> = new Set(["thread_broadcast", "file_share", "bot_message", "me_message"]);

/** Reads the newest messages of threads in Slack, as far as time and Slack's limits allow. */
export function createSlackThreadReader({ team, clock, logger }: SlackDeps & { clock: Clock }): ThreadReader {
  return {
    async read({ channelId, threadTs }, { after, before, position }) {
      const start = Number(after ?? threadTs);
      const pages: ThreadPages = {
        messages: new Map(),
        readFrom: null,
        position: position ?? { from: start, cutAt: start, fewAt: null },
      };
      const thread = { channel: channelId, ts: threadTs, latest: before };
      let stopped: NotifierFault | null;
      try {
        // Keeps what has arrived by then.
        const late = { kind: "unknown", error: "timeout" } as const;
        stopped = await within(clock, WITHIN_MS, readNewest(team.client, thread, start, pages), late);
      } catch (thrown) {
        return { ok: false, fault: slackFault(thrown, "find") };
      }
      if (stopped !== null) {
        logger.warn({ error: stopped.error, read: pages.messages.size }, "could not read all of a thread");
        if (pages.messages.size === 0) return { ok: false, fault: stopped };
      }
      const { messages, readFrom } = pages;
      // Every page includes the thread's first message.
      const inRange = [...messages.values()].filter(
        ({ ts }) =>
          compareTs(ts, before) < 0 &&
          (after === null || compareTs(ts, after) > 0) &&
          (ts === threadTs || readFrom === null || Number(ts) > readFrom),
      );
      const times = inRange.map(({ ts }) => ts).toSorted(compareTs);
      const readable = inRange.flatMap((message) => messageOf(message, team.identity) ?? []);
      const value: ThreadRead = {
        ...newestOf(readable, threadTs),
        hasEarlier: readFrom !== null && readFrom > start,
        upTo: times.at(-1) ?? null,
        stopped: stopped === null ? null : { retryAfterMs: stopped.retryAfterMs, position: pages.position },
      };
      return { ok: true, value };
    },
  };
}

function messageOf(message: ReceivedMessage, identity: SlackIdentity): ThreadMessage | null {
  const { ts, subtype } = message;
  if (subtype !== undefined && subtype !== null && !SAID.has(subtype)) return null;
  if (isOwnPost(message, identity)) {
    const line = outcomeLineOf(message);
    if (line === null) return null;
    return {
      ts,
      segments: parseMessageText(line),
      authorId: null,
      authorName: identity.botName,
      isOwn: true,
    };
  }
  const found = threadMessage(message);
  const isEmpty = found.segments.length === 0 && found.files === undefined && found.shows === undefined;
  return isEmpty ? null : found;
}

/**
 * Slack's recommended maximum (docs.slack.dev/reference/methods/conversations.replies). Some apps
 * get 15.
 */
const PAGE_SIZE = 200;
/** Slack's limit. After the first page, it leads through 6,000 messages in the remaining calls. */
const LONG_PAGE_SIZE = 1000;
const CALLS = 8;

/** The part of a thread that has been read. Times are Slack's, in seconds. */
export type ThreadPages = {
  messages: Map<string, ReceivedMessage>;
  /** All messages after this time have been read. Null if the newest are missing. */
  readFrom: number | null;
  /** Where to continue. */
  position: ThreadPosition;
};

/**
 * Reads the newest messages of a thread after `start`. Returns null once they are all read.
 *
 * Slack always gives the earliest messages first ("Pagination by time" on the method's page), so a
 * long thread is read from a time near its end. After the first page, that time is estimated from
 * how far apart the page's messages are; later, it lies between a time with too many messages after
 * it and one with too few. If the thread was silent for long, there may be nothing after that time;
 * then long pages are read on from the newest known message. Each answer begins with the thread's
 * first message.
 */
export async function readNewest(
  client: WebClient,
  thread: { channel: string; ts: string; latest: string },
  start: number,
  pages: ThreadPages,
): Promise<NotifierFault | null> {
  let wanted = THREAD_MAX_MESSAGES - 1;
  /** Everything from here to the end of the newest cut-off page has been read. */
  let cutFrom = pages.position.from;
  let isLarge = false;
  for (let call = 0; call < CALLS; call += 1) {
    const { from, cutAt, fewAt } = pages.position;
    let answer;
    try {
      const oldest = from.toFixed(6);
      answer = await client.conversations.replies({
        ...thread,
        oldest,
        limit: isLarge ? LONG_PAGE_SIZE : PAGE_SIZE,
        include_all_metadata: true,
      });
    } catch (thrown) {
      return newestRead(pages) > 0 ? null : slackFault(thrown, "find");
    }
    const found = (answer.messages ?? []).flatMap((message) => ReceivedMessage.safeParse(message).data ?? []);
    for (const message of found) pages.messages.set(message.ts, message);
    const times = found
      .flatMap(({ ts }) => (Number(ts) > from ? [Number(ts)] : []))
      .toSorted((a, b) => a - b);
    const last = times.at(-1) ?? from;
    const isCut = answer.has_more === true && last < (pages.readFrom ?? Infinity);
    const isEmpty = !isCut && times.length === 0 && from > Math.max(start, cutAt);
    if (!isCut && !isEmpty) pages.readFrom = from <= cutAt ? cutFrom : from;
    if (pages.readFrom !== null && (pages.readFrom <= start || newestRead(pages) >= wanted)) return null;
    const known = Math.min(Number(thread.latest), Number(answer.messages?.[0]?.latest_reply ?? Infinity));
    const end = isCut || times.length === 0 ? known : last;
    if (isCut) {
      // Apps that get 15 messages also get only one call a minute.
      wanted = Math.min(wanted, Math.floor(found.length / 2));
      cutFrom = from === cutAt ? cutFrom : from;
      isLarge = found.length > 2 * THREAD_MAX_MESSAGES;
    }
    const bounds = isCut ? { cutAt: last, fewAt } : { cutAt, fewAt: from };
    const apart = (last - (times[0] ?? last)) / Math.max(1, times.length - 1);
    const goesOn = isLarge && (isEmpty || (isCut && from > start));
    pages.position = {
      ...bounds,
      from: nextFrom(bounds, end, { halfS: (apart * found.length) / 2, goesOn }),
    };
  }
  return newestRead(pages) > 0 ? null : { kind: "not-sent", error: "too_many_pages" };
}

/** With large pages, continuing right after what was read is sure to reach the end. */
function nextFrom(
  { cutAt, fewAt }: Pick<ThreadPosition, "cutAt" | "fewAt">,
  end: number,
  page: { halfS: number; goesOn: boolean },
): number {
  if (page.goesOn) return cutAt;
  if (fewAt === null) return Math.max(cutAt, end - page.halfS);
  return end - Math.sqrt((end - cutAt) * (end - fewAt));
}

/** How many of the newest messages have been read. */
function newestRead({ messages, readFrom }: ThreadPages): number {
  return readFrom === null ? 0 : [...messages.keys()].filter((ts) => Number(ts) > readFrom).length;
}
