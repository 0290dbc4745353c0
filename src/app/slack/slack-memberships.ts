import { z } from "zod";
import type { Memberships } from "../rules/ports/directory.ts";
import { keepNewest } from "../../shared/store/keep-newest.ts";
import { slackFault } from "./slack-faults.ts";
import type { SlackDeps } from "./slack-team.ts";

type Channels = Awaited<ReturnType<Memberships["channelsOf"]>>;

/** Long enough for someone who turns pages. */
const FRESH_MS = 30_000;
const REMEMBERED_MAX = 1000;
/** Slack recommends at most 200 per page, allows 999, and 50 or more calls a minute (tier 3). */
const PAGE_LIMIT = 200;
const PAGES_MAX = 5;
/**
 * Asked for one by one, because Slack refuses the whole call if the scope for one kind is missing.
 */
const KINDS = ["public_channel", "private_channel"];
/** Asked for only where the app certainly may. */
const OF_GROUP_MESSAGES = { kind: "mpim", scope: "mpim:read" };

const Page = z.object({
  channels: z.array(z.object({ id: z.string() })).default([]),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional(),
});

/**
 * Asks Slack which channels a person is in (docs.slack.dev/reference/methods/users.conversations).
 * With a bot's token and a person's id, Slack lists the channels that both are in.
 */
export function createSlackMemberships({ team, clock, logger }: SlackDeps): Memberships {
  const remembered = new Map<string, { askedAtMs: number; channels: Promise<Channels> }>();

  async function channelsOfKind(user: string, types: string): Promise<Channels> {
    const channels = new Set<string>();
    try {
      let cursor: string | undefined;
      for (let page = 0; page < PAGES_MAX; page += 1) {
        const asked = { user, types, limit: PAGE_LIMIT, ...(cursor === undefined ? {} : { cursor }) };
        const answer = Page.parse(await team.client.users.conversations(asked));
        for (const { id } of answer.channels) channels.add(id);
        cursor = answer.response_metadata?.next_cursor || undefined;
        if (cursor === undefined) return { channels, isComplete: true };
      }
    } catch (thrown) {
      logger.warn({ fault: slackFault(thrown), types }, "cannot look up which channels a person is in");
    }
    return { channels, isComplete: false };
  }

  async function ask(userId: string): Promise<Channels> {
    const { kind: mpim, scope } = OF_GROUP_MESSAGES;
    const kinds = [...KINDS, ...(team.identity.scopes?.includes(scope) === true ? [mpim] : [])];
    const found = await Promise.all(kinds.map((kind) => channelsOfKind(userId, kind)));
    return {
      channels: new Set(found.flatMap(({ channels }) => [...channels])),
      isComplete: found.every(({ isComplete }) => isComplete),
    };
  }

  return {
    async channelsOf(userId) {
      const nowMs = clock.monotonicMs();
      const known = remembered.get(userId);
      if (known !== undefined && nowMs - known.askedAtMs < FRESH_MS) return known.channels;
      const channels = ask(userId);
      keepNewest(remembered, userId, { askedAtMs: nowMs, channels }, REMEMBERED_MAX);
      // Incomplete answers are asked for again the next time.
      if (!(await channels).isComplete) remembered.delete(userId);
      return channels;
    },
  };
}
