import * as z from "zod";
import { SlackRefusal } from "../refusal.ts";
import { type Args, readArgs } from "./args.ts";
import { type MethodContext, type MethodTable, visibleChannel } from "./method.ts";

const StatusArgs = z.object({
  channel_id: z.string().min(1),
  thread_ts: z.string().min(1),
  status: z.string(),
  loading_messages: z.array(z.string()).max(10).optional(),
});

/**
 * https://docs.slack.dev/reference/methods/assistant.threads.setStatus. Since March 2026, it needs
 * only `chat:write` and works in channels, too.
 */
export const assistantMethods: MethodTable = {
  "assistant.threads.setStatus": { token: "bot", scopes: ["chat:write", "assistant:write"], run: setStatus },
};

function setStatus(args: Args, context: MethodContext) {
  const { workspace } = context;
  const { channel_id, thread_ts, status, loading_messages } = readArgs(StatusArgs, args);
  const channel = visibleChannel(channel_id, context);
  if (!channel.members.has(workspace.bot.userId)) throw new SlackRefusal("channel_not_found");
  const message = workspace.log(channel.id).find(thread_ts);
  if (message === undefined || message.thread_ts !== undefined) throw new SlackRefusal("invalid_thread_ts");
  // If the app has no messages of its own, Slack shows this one in channels (slack-go/slack#1487).
  const [shown = "is processing…"] = loading_messages ?? [];
  workspace.threadStatuses.setIndicator(channel.id, thread_ts, status === "" ? null : shown);
  return {};
}
