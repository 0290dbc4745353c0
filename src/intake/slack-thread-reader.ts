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
import { readNewest } from "./newest-in-thread.ts";
import type { ThreadPages } from "./newest-in-thread.ts";
import { authorOf, filesOfMessage, withFiles, withShown, wordsOf } from "./slack-message.ts";
import type { SaidMessage } from "./slack-message.ts";

/** For all pages. */
const WITHIN_MS = 5_000;
/** What else has a subtype tells of the channel, or is gone. */
const SAID: ReadonlySet<string> = new Set(["thread_broadcast", "file_share", "bot_message", "me_message"]);

/** Reads threads in Slack, their newest messages, as far as time and Slack's limits allow. */
export function createSlackThreadReader(options: {
  teams: SlackTeams;
  clock: Clock;
  logger: Logger;
}): ThreadReader {
  const { teams, clock, logger } = options;

  return {
    async read({ teamId, channelId, threadTs }, { after, before, look }) {
      const start = Number(after ?? threadTs);
      const pages: ThreadPages = {
        messages: new Map(),
        readFrom: null,
        look: look ?? { from: start, cutAt: start, fewAt: null },
      };
      const thread = { channel: channelId, ts: threadTs, latest: before };
      let identity: SlackIdentity;
      let stopped: NotifierFault | null;
      try {
        const team = await teams.of(teamId);
        ({ identity } = team);
        // What has come by then stays.
        const late = { kind: "unknown", error: "timeout" } as const;
        stopped = await within(clock, WITHIN_MS, readNewest(team.client, thread, start, pages), late);
      } catch (thrown) {
        return { ok: false, fault: slackFault(thrown, "find") };
      }
      if (stopped !== null) {
        logger.warn({ error: stopped.error, read: pages.messages.size }, "could not read all of a thread");
        if (pages.messages.size === 0) return { ok: false, fault: stopped };
      }
      return { ok: true, value: readOf(pages, { threadTs, after, before, start, identity, stopped }) };
    },
  };
}

function readOf(
  { messages, readFrom, look }: ThreadPages,
  at: {
    threadTs: string;
    after: string | null;
    before: string;
    start: number;
    identity: SlackIdentity;
    stopped: NotifierFault | null;
  },
): ThreadRead {
  const { threadTs, after, before, start, identity, stopped } = at;
  // The thread's first message comes with every page.
  const inRange = [...messages.values()].filter(
    ({ ts }) =>
      compareTs(ts, before) < 0 &&
      (after === null || compareTs(ts, after) > 0) &&
      (ts === threadTs || readFrom === null || Number(ts) > readFrom),
  );
  const said = inRange.flatMap((message) => messageOf(message, identity) ?? []);
  return {
    ...newestOf(said, threadTs),
    hasEarlier: readFrom !== null && readFrom > start,
    upTo:
      inRange
        .map(({ ts }) => ts)
        .toSorted(compareTs)
        .at(-1) ?? null,
    stopped: stopped === null ? null : { retryAfterMs: stopped.retryAfterMs, look },
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
