import * as z from "zod";
import { SlackRefusal } from "../refusal.ts";
import { SESSION_STATUSES } from "../thread-statuses.ts";
import { type Args, readArgs } from "./args.ts";
import { type MethodContext, type MethodTable, visibleChannel } from "./method.ts";

const SessionArgs = z.object({
  channel_id: z.string().min(1),
  thread_ts: z.string().min(1),
  status: z.enum(SESSION_STATUSES),
  title: z.string().max(200).optional(),
});

/** The event without which Slack draws the loader without a Stop button. */
export const STOPPED_EVENT = "agent_session_stopped";

/**
 * https://docs.slack.dev/reference/methods/agents.sessions.setStatus: only for apps that are
 * declared as agents. Others get `not_authorized` (kirodotdev/KiroCrew#9822). The codes for a
 * channel and a thread are those of assistant.threads.setStatus, because the page names none.
 */
export const agentsMethods: MethodTable = {
  "agents.sessions.setStatus": { token: "bot", scopes: ["chat:write"], run: setStatus },
};

function setStatus(args: Args, context: MethodContext) {
  const { workspace, events } = context;
  if (!context.isAgent) throw new SlackRefusal("not_authorized");
  const { channel_id, thread_ts, status } = readArgs(SessionArgs, args);
  const channel = visibleChannel(channel_id, context);
  if (!channel.members.has(workspace.bot.userId)) throw new SlackRefusal("channel_not_found");
  const message = workspace.log(channel.id).find(thread_ts);
  if (message === undefined || message.thread_ts !== undefined) throw new SlackRefusal("invalid_thread_ts");
  workspace.threadStatuses.setSession(channel.id, thread_ts, status);
  const warnings = events.includes(STOPPED_EVENT) ? [] : [`missing_${STOPPED_EVENT}_event_subscription`];
  return {
    status,
    agent_status: status,
    ...(warnings.length > 0 && {
      warning: warnings.join(","),
      response_metadata: { warnings, messages: [`[WARN] Subscribe to the ${STOPPED_EVENT} event.`] },
    }),
  };
}
