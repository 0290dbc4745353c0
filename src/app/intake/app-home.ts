import { onPress } from "./press.ts";
import type { Request } from "../rules/turn/request.ts";
import type { App } from "@slack/bolt";
import { z } from "zod";
import { ACTIONS, homeProjectValue, refreshValue, SUGGESTION, suggestionValue } from "../messages/actions.ts";
import { refusalMessage } from "../messages/refusal-message.ts";
import { ASKED_BEFORE } from "../messages/short-answers.ts";
import { homeTask, welcomeTask } from "../rules/decisions/new-tasks.ts";
import { acceptRequest, notAcceptedMessage } from "./accept-request.ts";
import { askForProject, projectFor, setProject } from "./choose-project.ts";
import { teamOf, type IntakeDeps } from "./deps.ts";

/** The event for opening the Home tab or the messages tab. */
const Opened = z.object({ tab: z.enum(["home", "messages"]), user: z.string(), channel: z.string() });

/**
 * Handles opening the app: its Home tab with the buttons in it, and its direct messages with the
 * prompts that it suggests to a newcomer.
 */
export function registerAppHome(app: App, deps: IntakeDeps): void {
  app.event("app_home_opened", async ({ event, context }) => {
    const opened = Opened.safeParse(event);
    if (!opened.success) return;
    const { tab, user: userId, channel: channelId } = opened.data;
    const teamId = teamOf(context);
    const task = tab === "home" ? homeTask({ teamId, userId }) : welcomeTask({ teamId, channelId, userId });
    await deps.queue.add(task);
  });

  onPress(app, deps, ACTIONS.refreshHome, refreshValue, async (_, { user }, context) => {
    await deps.queue.add(homeTask({ teamId: teamOf(context), userId: user.id }));
    return null;
  });

  onPress(app, deps, ACTIONS.homeProject, homeProjectValue, async ({ project }, { user }, context) => {
    const asker = { teamId: teamOf(context), userId: user.id };
    await setProject(deps, asker, deps.projects.find(({ name }) => name === project) ?? null);
    await deps.queue.add(homeTask(asker));
    return null;
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
      return notAcceptedMessage(thrown, deps);
    }
  });
}
