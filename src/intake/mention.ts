import type { App } from "@slack/bolt";
import type { IntakeDeps } from "./deps.ts";
import { takeSaid } from "./said-to-app.ts";
import { filesOfMessage } from "./slack-message.ts";
import { teamOf } from "./team.ts";

const MENTION_EVENT = "app_mention";

/**
 * A mention of the app with a prompt: the way to ask from inside a thread, where slash commands do not work. In the thread of a job it is a
 * follow-up to that job. Edits are none.
 */
export function registerMention(app: App, deps: IntakeDeps): void {
  app.event(MENTION_EVENT, async ({ event, context }) => {
    // Apps and workflows that mention us could keep answering each other.
    if (event.user === undefined || ("bot_id" in event && event.bot_id !== undefined)) return;
    // Slack sends another one when a mention is edited, however old it is, or added to a message (github.com/slack-go/slack/pull/1256).
    if ("edited" in event && event.edited !== undefined) return;
    const said = {
      teamId: teamOf(context),
      channelId: event.channel,
      ts: event.ts,
      threadTs: event.thread_ts ?? null,
      userId: event.user,
      text: event.text,
      // They come with the event (github.com/slackapi/bolt-js/issues/2056).
      files: filesOfMessage(event),
    };
    await takeSaid(deps, said, context.botUserId);
  });
}
