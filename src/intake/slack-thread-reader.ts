import type { WebClient } from "@slack/web-api";
import { within } from "../core/clock.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import type { NotifierFault } from "../core/notifier.ts";
import type { ThreadMessage } from "../core/request.ts";
import { compareTs, newestOf } from "../core/thread-context.ts";
import type { ThreadRead, ThreadReader } from "../core/thread-context.ts";
import { outcomeLineOf } from "../replies/find-post.ts";
import { slackFault } from "../replies/slack-faults.ts";
import type { SlackIdentity, SlackTeams } from "../replies/slack-teams.ts";
import { parseMessageText } from "./message-text.ts";
import { SaidMessage, authorOf, filesOfMessage, withFiles, withShown, wordsOf } from "./slack-message.ts";

/** Slack recommends no more (docs.slack.dev/reference/methods/conversations.replies); some apps get 15. */
const PAGE_SIZE = 200;
const PAGES = 5;
/** For all pages. */
const WITHIN_MS = 5_000;
/** What else has a subtype tells of the channel, or is gone. */
const SAID: ReadonlySet<string> = new Set(["thread_broadcast", "file_share", "bot_message", "me_message"]);

/** What `conversations.replies` has given so far. */
type Pages = { messages: SaidMessage[]; cursor: string | null };

/**
 * Reads threads in Slack. It gives the earliest messages first, whatever it is asked ("Pagination by time" on the method's page), so the newest
 * are the last of as many pages as time and Slack's limits allow.
 */
export function createSlackThreadReader(options: {
  teams: SlackTeams;
  clock: Clock;
  logger: Logger;
}): ThreadReader {
  const { teams, clock, logger } = options;

  return {
    async read({ teamId, channelId, threadTs }, { after, before }) {
      const pages: Pages = { messages: [], cursor: null };
      const range = {
        channel: channelId,
        ts: threadTs,
        latest: before,
        ...(after === null ? {} : { oldest: after }),
        limit: PAGE_SIZE,
        include_all_metadata: true,
      };
      let identity: SlackIdentity;
      let stopped: NotifierFault | null;
      try {
        const team = await teams.of(teamId);
        ({ identity } = team);
        // What has come by then stays.
        const late = { kind: "unknown", error: "timeout" } as const;
        stopped = await within(clock, WITHIN_MS, readPages(team.client, range, pages), late);
      } catch (thrown) {
        return { ok: false, fault: slackFault(thrown, "find") };
      }
      if (stopped !== null) {
        logger.warn({ error: stopped.error, read: pages.messages.length }, "could not read all of a thread");
        if (pages.messages.length === 0) return { ok: false, fault: stopped };
      }
      return { ok: true, value: readOf(pages, { threadTs, after, before, identity, stopped }) };
    },
  };
}

/** Null: they are all there. */
async function readPages(
  client: WebClient,
  range: NonNullable<Parameters<WebClient["conversations"]["replies"]>[0]>,
  pages: Pages,
): Promise<NotifierFault | null> {
  for (let page = 0; page < PAGES; page += 1) {
    try {
      const { messages = [], response_metadata } = await client.conversations.replies({
        ...range,
        ...(pages.cursor === null ? {} : { cursor: pages.cursor }),
      });
      pages.messages.push(...messages.flatMap((message) => SaidMessage.safeParse(message).data ?? []));
      pages.cursor = response_metadata?.next_cursor || null;
    } catch (thrown) {
      return slackFault(thrown, "find");
    }
    if (pages.cursor === null) return null;
  }
  return { kind: "not-sent", error: "too_many_pages" };
}

function readOf(
  pages: Pages,
  at: {
    threadTs: string;
    after: string | null;
    before: string;
    identity: SlackIdentity;
    stopped: NotifierFault | null;
  },
): ThreadRead {
  const { threadTs, after, before, identity, stopped } = at;
  // The thread's first message comes with every first page.
  const inRange = pages.messages.filter(
    ({ ts }) => compareTs(ts, before) < 0 && (after === null || compareTs(ts, after) > 0),
  );
  const said = inRange.flatMap((message) => messageOf(message, identity) ?? []);
  return {
    ...newestOf(said, threadTs),
    upTo: inRange.at(-1)?.ts ?? null,
    stopped: stopped === null ? null : { retryAfterMs: stopped.retryAfterMs },
  };
}

function messageOf(message: SaidMessage, identity: SlackIdentity): ThreadMessage | null {
  const { ts, subtype } = message;
  if (subtype !== undefined && subtype !== null && !SAID.has(subtype)) return null;
  if (message.bot_id === identity.botId || message.user === identity.botUserId) {
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
  const segments = wordsOf(message);
  const files = filesOfMessage(message);
  const shown = withShown(message);
  if (segments.length === 0 && files.length === 0 && shown.shows === undefined) return null;
  return { ts, segments, ...authorOf(message), ...withFiles(files), ...shown };
}
