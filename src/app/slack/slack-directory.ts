import type { Logger } from "../../shared/machine/ports.ts";
import type { Directory } from "../rules/ports/directory.ts";
import { builtPermalink } from "../messages/links.ts";
import { remembered } from "./remembered.ts";
import { createSlackAdmission } from "./slack-admission.ts";
import { slackFault } from "./slack-faults.ts";
import { isKnown, type SlackDeps } from "./slack-team.ts";

type Options = SlackDeps & { allowGuests: boolean };

/** Looks people and channels up in Slack. For `allowGuests`, see {@link createSlackAdmission}. */
export function createSlackDirectory(options: Options): Directory {
  const { team, clock, logger } = options;
  const channelOf = remembered(clock, (channelId) =>
    orNull(logger, "a channel", channelId, async () => {
      return (await team.client.conversations.info({ channel: channelId })).channel;
    }),
  );

  return {
    admission: createSlackAdmission(options),

    personName: remembered(clock, (userId) =>
      orNull(logger, "a person's name", userId, async () => {
        const { user } = await team.client.users.info({ user: userId });
        return user?.profile?.display_name || user?.real_name || user?.name;
      }),
    ),

    groupMembers: createGroupMembers(options),

    groupName: createGroupNames(options),

    async isPublic(channelId) {
      // Direct messages, whose ids begin with D, are never public.
      const channel = channelId.startsWith("D") ? null : await channelOf(channelId);
      return channel?.is_channel === true && channel.is_private === false;
    },

    async channelName(channelId) {
      return (await channelOf(channelId))?.name || null;
    },

    threadUrl({ channelId, ts }) {
      return builtPermalink(team.identity.teamUrl, { channelId, ts, threadTs: null });
    },

    appId: () => (isKnown(team.identity) ? `${team.identity.teamId}-${team.identity.botUserId}` : null),

    async permalink(message) {
      const { channelId, ts } = message;
      const said = await orNull(logger, "a permalink", ts, async () => {
        const { permalink } = await team.client.chat.getPermalink({ channel: channelId, message_ts: ts });
        return permalink;
      });
      return said ?? builtPermalink(team.identity.teamUrl, message);
    },
  };
}

/** Finds the name of a user group. Slack gives the names of all groups at once. */
function createGroupNames({ team, clock, logger }: SlackDeps): Directory["groupName"] {
  let lacksScope = false;
  const namesOf = remembered(clock, (teamId) =>
    orNull(logger, "user groups", teamId, async () => {
      if (lacksScope) return undefined;
      try {
        const { usergroups = [] } = await team.client.usergroups.list({ include_disabled: true });
        return new Map(usergroups.map(({ id = "", handle, name }) => [id, handle || name || ""]));
      } catch (thrown) {
        // It stays so until the app is installed anew.
        lacksScope = slackFault(thrown).error === "missing_scope";
        if (lacksScope) return undefined;
        throw thrown;
      }
    }),
  );

  /** A message may mention several groups, and their names are asked for once. */
  let listing: ReturnType<typeof namesOf> | undefined;

  return async function groupName(groupId) {
    listing ??= namesOf(team.identity.teamId).finally(() => {
      listing = undefined;
    });
    return (await listing)?.get(groupId) || null;
  };
}

/** Lists the members of a user group. Whoever asks while Slack is being asked gets its answer. */
function createGroupMembers({ team, clock, logger }: SlackDeps): Directory["groupMembers"] {
  const asking = new Map<string, ReturnType<Directory["groupMembers"]>>();
  const membersOf = remembered(clock, (groupId) =>
    orNull(logger, "the members of a user group", groupId, async () => {
      const { users } = await team.client.usergroups.users.list({ usergroup: groupId });
      return users === undefined ? undefined : new Set(users);
    }),
  );

  return async function groupMembers(groupId) {
    const members = asking.get(groupId) ?? membersOf(groupId).finally(() => asking.delete(groupId));
    asking.set(groupId, members);
    return members;
  };
}

/** What `ask` resolves to, or null if that is nothing or Slack didn't say. */
async function orNull<T>(
  logger: Logger,
  what: string,
  id: string,
  ask: () => Promise<T | undefined>,
): Promise<T | null> {
  try {
    const found = await ask();
    return found === undefined || found === "" ? null : found;
  } catch (thrown) {
    logger.warn({ id, fault: slackFault(thrown) }, `cannot look up ${what}; going on without it`);
    return null;
  }
}
