import type { App } from "@slack/bolt";
import { z } from "zod";
import type { IntakeDeps } from "./deps.ts";
import { takeSaid } from "./said-to-app.ts";
import { WrittenMessage, saidOf } from "./slack-message.ts";
import { teamOf } from "./team.ts";

const MENTION_EVENT = "app_mention";

/**
 * A mention as a person writes it. Apps and workflows that mention us could keep answering each other. Slack sends another event when a mention
 * is edited, however old it is, or added to a message (github.com/slack-go/slack/pull/1256). Files come with it (github.com/slackapi/bolt-js/issues/2056).
 */
const Mention = WrittenMessage.omit({ app_id: true }).extend({
  text: z.string(),
  thread_ts: z.string().optional(),
});

/**
 * A mention of the app with a prompt: the way to ask from inside a thread, where slash commands do not work. In the thread of a job it is a
 * follow-up to that job.
 */
export function registerMention(app: App, deps: IntakeDeps): void {
  app.event(MENTION_EVENT, async ({ event, context }) => {
    const mention = Mention.safeParse(event);
    if (mention.success) await takeSaid(deps, saidOf(teamOf(context), mention.data), context.botUserId);
  });
}
