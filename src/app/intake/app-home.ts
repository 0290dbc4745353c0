import { onPress } from "./press.ts";
import type { Request } from "../rules/turn/request.ts";
import type { App } from "@slack/bolt";
import { z } from "zod";
import { SUGGESTION, suggestionValue } from "../messages/actions.ts";
import { refusalMessage } from "../messages/private-messages.ts";
import { ASKED_BEFORE } from "../messages/short-answers.ts";
import { welcomeTask } from "../rules/decisions/new-tasks.ts";
import { acceptRequest, notAcceptedMessage } from "./accept-request.ts";
import { askForProject, projectFor } from "./project-buttons.ts";
import { teamOf, type IntakeDeps } from "./deps.ts";

/** The event for opening the messages tab. The app's other tabs don't matter here. */
const Opened = z.object({ tab: z.literal("messages"), user: z.string(), channel: z.string() });

/**
 * Handles opening the direct messages with the app, and pressing one of the prompts that it
 * suggests to a newcomer.
 */
export function registerAppHome(app: App, deps: IntakeDeps): void {
  app.event("app_home_opened", async ({ event, context }) => {
    const opened = Opened.safeParse(event);
    if (!opened.success) return;
    const { user: userId, channel: channelId } = opened.data;
    await deps.queue.add(welcomeTask({ teamId: teamOf(context), channelId, userId }));
  });

  onPress(app, deps, SUGGESTION, suggestionValue, async ({ prompt }, body, context) => {
    const teamId = teamOf(context);
    const channelId = body.channel?.id ?? "";
    const [{ action_id: actionId } = { action_id: "" }] = body.actions;
    const request: Request = {
      // Pressing it twice makes one request.
      id: `suggestion:${teamId}:${channelId}:${body.message?.ts}:${actionId}`,
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
    };
    try {
      const choice = await projectFor(deps, request, null);
      if (choice.kind !== "chosen") {
        await askForProject(deps, request);
        return null;
      }
      const accepted = await acceptRequest(deps, { ...request, project: choice.project });
      if (accepted.kind === "refused") return refusalMessage(accepted.refusal, deps);
      return accepted.kind === "known" ? ASKED_BEFORE : null;
    } catch (thrown) {
      deps.logger.error({ err: thrown }, "could not accept a suggested request");
      return notAcceptedMessage(thrown);
    }
  });
}
