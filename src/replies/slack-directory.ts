import type { WebClient } from "@slack/web-api";
import type { Logger } from "../core/logger.ts";
import type { Directory } from "../core/notifier.ts";
import { slackFault } from "./slack-faults.ts";

/** Looks names up in Slack. `teamUrl`: the workspace's address, as `auth.test` gives it. */
export function createSlackDirectory(options: {
  client: WebClient;
  teamUrl: string;
  logger: Logger;
}): Directory {
  const { client, teamUrl, logger } = options;

  async function orNull(
    what: string,
    id: string,
    look: () => Promise<string | undefined>,
  ): Promise<string | null> {
    try {
      const found = await look();
      return found === undefined || found === "" ? null : found;
    } catch (thrown) {
      logger.warn(
        { id, fault: slackFault(thrown) },
        `cannot look up ${what}; the prompt goes out with its id`,
      );
      return null;
    }
  }

  return {
    async personName(userId) {
      return orNull("a person's name", userId, async () => {
        const { user } = await client.users.info({ user: userId });
        return user?.profile?.display_name || user?.real_name || user?.name;
      });
    },

    async channelName(channelId) {
      return orNull("a channel's name", channelId, async () => {
        const { channel } = await client.conversations.info({ channel: channelId });
        return channel?.name;
      });
    },

    async permalink({ channelId, ts, threadTs }) {
      const said = await orNull("a permalink", ts, async () => {
        const { permalink } = await client.chat.getPermalink({ channel: channelId, message_ts: ts });
        return permalink;
      });
      return said ?? builtPermalink(teamUrl, channelId, ts, threadTs);
    },
  };
}

/** The permalink as Slack builds it, for messages in channels that the app may not look into. */
function builtPermalink(
  teamUrl: string,
  channelId: string,
  ts: string,
  threadTs: string | null,
): string | null {
  if (!URL.canParse(teamUrl)) return null;
  const url = new URL(`archives/${channelId}/p${ts.replace(".", "")}`, teamUrl);
  if (threadTs !== null && threadTs !== ts) {
    url.searchParams.set("thread_ts", threadTs);
    url.searchParams.set("cid", channelId);
  }
  return url.href;
}
