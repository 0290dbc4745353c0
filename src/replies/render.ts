import type { Message } from "../core/notifier.ts";
import type { Rendered } from "./blocks.ts";
import type { Look } from "./look.ts";
import { outcomeMessage } from "./outcome-message.ts";
import { gaveUpMessage, helpMessage, inviteMeMessage, refusalMessage } from "./private-messages.ts";
import { statusMessage } from "./status-message.ts";

/** Any message as Slack takes it. */
export function render(message: Message, look: Look): Rendered {
  switch (message.kind) {
    case "status":
      return statusMessage(message.request, message.turn, message.away, {
        botName: look.botName,
        showProject: look.projects.length > 1,
        watchedFor: look.watchedFor,
      });
    case "outcome":
      return outcomeMessage(message.turn, message.outcome, message.watch, message.away, look);
    case "help":
      return helpMessage(look.projects);
    case "refused":
      return refusalMessage(message.refusal);
    case "invite-me":
      return inviteMeMessage(message.channelId, message.error, look.botName);
    case "gave-up":
      return gaveUpMessage(message.taskType, message.taskId, message.channelId);
  }
}
