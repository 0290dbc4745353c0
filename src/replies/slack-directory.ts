import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import type { Directory } from "../core/directory.ts";
import { builtPermalink } from "./permalink.ts";
import { createSlackAdmission } from "./slack-admission.ts";
import { slackFault } from "./slack-faults.ts";
import type { SlackTeams } from "./slack-teams.ts";

/** Looks people and channels up in Slack. `allowGuests`: guests and people of other organizations are admitted like members. */
export function createSlackDirectory(options: {
  teams: SlackTeams;
  allowGuests: boolean;
  clock: Pick<Clock, "monotonicMs">;
  logger: Logger;
}): Directory {
  const { teams, logger } = options;

  async function orNull(
    what: string,
    id: string,
    ask: () => Promise<string | undefined>,
  ): Promise<string | null> {
    try {
      const found = await ask();
      return found === undefined || found === "" ? null : found;
    } catch (thrown) {
      logger.warn(
        { id, fault: slackFault(thrown) },
        `cannot look up ${what}; the prompt goes out with its id`,
      );
      return null;
    }
  }

  function teamUrlOf(teamId: string): Promise<string | null> {
    return orNull("the team's address", teamId, async () => {
      const { identity } = await teams.of(teamId);
      return identity.teamUrl;
    });
  }

  return {
    admission: createSlackAdmission(options),

    async personName(teamId, userId) {
      return orNull("a person's name", userId, async () => {
        const { client } = await teams.of(teamId);
        const { user } = await client.users.info({ user: userId });
        return user?.profile?.display_name || user?.real_name || user?.name;
      });
    },

    async channelName(teamId, channelId) {
      return orNull("a channel's name", channelId, async () => {
        const { client } = await teams.of(teamId);
        const { channel } = await client.conversations.info({ channel: channelId });
        return channel?.name;
      });
    },

    async threadUrl({ teamId, channelId, ts }) {
      const teamUrl = await teamUrlOf(teamId);
      return teamUrl === null ? null : builtPermalink(teamUrl, channelId, ts, null);
    },

    async permalink({ teamId, channelId, ts, threadTs }) {
      const said = await orNull("a permalink", ts, async () => {
        const { client } = await teams.of(teamId);
        const { permalink } = await client.chat.getPermalink({ channel: channelId, message_ts: ts });
        return permalink;
      });
      if (said !== null) return said;
      const teamUrl = await teamUrlOf(teamId);
      return teamUrl === null ? null : builtPermalink(teamUrl, channelId, ts, threadTs);
    },
  };
}
