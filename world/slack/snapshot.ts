import { z } from "zod";
import { MessageBlocks } from "./block-kit/blocks.ts";

const Team = z.object({
  id: z.string(),
  name: z.string(),
  domain: z.string(),
  url: z.string(),
  enterpriseId: z.string().exactOptional(),
});
const Bot = z.object({ userId: z.string(), botId: z.string(), appId: z.string(), name: z.string() });
const User = z.object({
  id: z.string(),
  name: z.string(),
  real_name: z.string(),
  display_name: z.string(),
  guest: z.enum(["multi-channel", "single-channel"]).exactOptional(),
  home: z.object({ teamId: z.string(), enterpriseId: z.string().exactOptional() }).exactOptional(),
  isDeactivated: z.boolean().exactOptional(),
});

const SavedChannel = z.object({
  id: z.string(),
  name: z.string(),
  kind: z.enum(["public", "private", "im", "mpim"]),
  members: z.array(z.string()),
  isArchived: z.boolean(),
  hostTeamId: z.string().exactOptional(),
});

const SavedMessage = z.object({
  channel: z.string(),
  ts: z.string(),
  user: z.string(),
  bot_id: z.string().exactOptional(),
  text: z.string(),
  blocks: MessageBlocks.exactOptional(),
  thread_ts: z.string().exactOptional(),
  subtype: z.enum(["tombstone", "thread_broadcast"]).exactOptional(),
  metadata: z
    .object({ event_type: z.string(), event_payload: z.record(z.string(), z.unknown()) })
    .exactOptional(),
  reactions: z.array(z.object({ name: z.string(), users: z.array(z.string()) })).exactOptional(),
  edited: z.object({ user: z.string(), ts: z.string() }).exactOptional(),
  deleted: z.boolean(),
  mentions: z.array(z.string()),
});

/**
 * A workspace as it is kept between two runs: its people, channels and every message. As in Slack,
 * ephemeral messages, open forms, triggers and response URLs aren't kept.
 */
export const WorkspaceSnapshot = z.object({
  version: z.literal(1),
  team: Team,
  bot: Bot,
  users: z.array(User),
  channels: z.array(SavedChannel),
  messages: z.array(SavedMessage),
});
export type WorkspaceSnapshot = z.infer<typeof WorkspaceSnapshot>;
