import type { App, BlockAction, ButtonAction } from "@slack/bolt";
import { SUGGESTION, suggestionValue } from "../replies/actions.ts";
import { refusalMessage } from "../replies/private-messages.ts";
import { ASKED_BEFORE } from "../replies/short-answers.ts";
import { welcomeTask } from "../tasks/welcome.ts";
import { acceptRequest, notAcceptedMessage } from "./accept-request.ts";
import type { Accepted, IntakeDeps } from "./deps.ts";
import { teamOf } from "./deps.ts";

const HOME_OPENED_EVENT = "app_home_opened";

/** Somebody opens their direct messages with the app, and presses one of the prompts that it suggests to a newcomer. */
export function registerAppHome(app: App, deps: IntakeDeps): void {
  app.event(HOME_OPENED_EVENT, async ({ event, context }) => {
    if (event.tab !== "messages") return;
    const { user: userId, channel: channelId } = event;
    await deps.queue.add(welcomeTask({ teamId: teamOf(context), channelId, userId }));
  });

  app.action<BlockAction<ButtonAction>>(SUGGESTION, async ({ ack, action, body, context, respond }) => {
    const ephemeral = { response_type: "ephemeral", replace_original: false } as const;
    const prompt = suggestionValue.read(action.value)?.prompt;
    const teamId = teamOf(context);
    const channelId = body.channel?.id;
    const ts = body.message?.ts;
    if (prompt === undefined || channelId === undefined || ts === undefined) {
      await ack();
      return;
    }
    let accepted: Accepted;
    try {
      accepted = await acceptRequest(deps, {
        // Pressing it twice asks once.
        id: `suggestion:${teamId}:${channelId}:${ts}:${action.action_id}`,
        from: "command",
        teamId,
        channelId,
        threadTs: null,
        userId: body.user.id,
        project: deps.projects[0],
        instructions: prompt,
        quoted: null,
        responseUrl: body.response_url,
        receivedAt: deps.clock.now(),
      });
    } catch (thrown) {
      deps.logger.error({ err: thrown }, "could not accept a suggested request");
      await ack();
      await respond({ ...notAcceptedMessage(thrown), ...ephemeral });
      return;
    }
    await ack();
    if (accepted.kind === "refused") await respond({ ...refusalMessage(accepted.refusal), ...ephemeral });
    if (accepted.kind === "known") await respond({ text: ASKED_BEFORE, ...ephemeral });
  });
}
