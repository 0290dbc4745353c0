import type { Clock } from "../core/ports/clock.ts";
import type { Logger } from "../core/ports/logger.ts";
import type { Directory } from "../core/ports/directory.ts";
import { builtPermalink } from "./links.ts";
import { createSlackAdmission } from "./slack-admission.ts";
import { slackFault } from "./slack-faults.ts";
import type { SlackTeams } from "./slack-teams.ts";

/**
 * A renamed person keeps the old name, and a channel made private counts as public, for this long.
 */
const KEPT_MS = 5 * 60_000;
const KEPT_MAX = 10_000;

/**
 * Looks people and channels up in Slack. `allowGuests` admits guests and people of other
 * organizations like members.
 */
export function createSlackDirectory(options: {
  teams: SlackTeams;
  allowGuests: boolean;
  clock: Pick<Clock, "monotonicMs">;
  logger: Logger;
}): Directory {
  const { teams, clock, logger } = options;

  async function orNull<T>(what: string, id: string, ask: () => Promise<T | undefined>): Promise<T | null> {
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

  /**
   * Caches answers, because Slack allows some 50 look-ups a minute. Missing answers are asked for
   * again.
   */
  function remembered<T>(ask: (teamId: string, id: string) => Promise<T | null>): typeof ask {
    const known = new Map<string, { value: T; untilMs: number }>();
    return async (teamId, id) => {
      const key = `${teamId}:${id}`;
      const before = known.get(key);
      if (before !== undefined && clock.monotonicMs() < before.untilMs) return before.value;
      const value = await ask(teamId, id);
      known.delete(key);
      if (value !== null) known.set(key, { value, untilMs: clock.monotonicMs() + KEPT_MS });
      const [oldest] = known.keys();
      if (known.size > KEPT_MAX && oldest !== undefined) known.delete(oldest);
      return value;
    };
  }

  const personName = remembered((teamId, userId) =>
    orNull("a person's name", userId, async () => {
      const { client } = await teams.of(teamId);
      const { user } = await client.users.info({ user: userId });
      return user?.profile?.display_name || user?.real_name || user?.name;
    }),
  );

  const channelOf = remembered((teamId, channelId) =>
    orNull("a channel", channelId, async () => {
      const { client } = await teams.of(teamId);
      const { channel } = await client.conversations.info({ channel: channelId });
      return channel;
    }),
  );

  function teamUrlOf(teamId: string): Promise<string | null> {
    return orNull("the team's address", teamId, async () => {
      const { identity } = await teams.of(teamId);
      return identity.teamUrl;
    });
  }

  return {
    admission: createSlackAdmission(options),

    personName,

    async isPublic(teamId, channelId) {
      // Direct messages, whose ids begin with D, are never public.
      const channel = channelId.startsWith("D") ? null : await channelOf(teamId, channelId);
      return channel?.is_channel === true && channel.is_private === false;
    },

    async channelName(teamId, channelId) {
      return (await channelOf(teamId, channelId))?.name || null;
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
