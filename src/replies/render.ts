import type { Message } from "../core/notifier.ts";
import type { Rendered } from "./blocks.ts";
import { listMessage, standingMessage } from "./list-message.ts";
import { outcomeMessage } from "./outcome-message.ts";
import { overdueMessage } from "./overdue-message.ts";
import type { Presentation } from "./presentation.ts";
import {
  askMessage,
  gaveUpMessage,
  helpMessage,
  inviteMeMessage,
  keptMessage,
  noWordsMessage,
  notAllowedMessage,
  refusalMessage,
  welcomeMessage,
} from "./private-messages.ts";
import { questionMessage } from "./question-message.ts";
import { statusMessage } from "./status-message.ts";

/** Any message as Slack takes it. `botName`: the app's own name in that team, without the `@`. */
export function render(message: Message, presentation: Presentation, botName: string): Rendered {
  switch (message.kind) {
    case "status":
      return statusMessage(message.turn, message.followUps ?? [], message.away, {
        ...presentation,
        botName,
        showProject: presentation.projects.length > 1,
      });
    case "outcome":
      return outcomeMessage(
        message.turn,
        message.outcome,
        message.watch,
        message.away,
        { ...presentation, botName },
        message.muted,
      );
    case "question":
      return questionMessage(
        message.turn,
        message.question,
        message.away,
        { ...presentation, botName },
        message.muted,
      );
    case "overdue":
      return overdueMessage(message, botName);
    case "kept":
      return keptMessage();
    case "help":
      return message.isOfFiles === true ? noWordsMessage() : helpMessage(presentation.projects);
    case "welcome":
      return welcomeMessage(presentation.projects);
    case "list":
      return listMessage(message, presentation);
    case "standing":
      return standingMessage(message, presentation);
    case "ask":
      return askMessage(message.replyId);
    case "not-allowed":
      return notAllowedMessage(message.requesterId, botName);
    case "refused":
      return refusalMessage(message.refusal);
    case "invite-me":
      return inviteMeMessage(message.channelId, message.error, botName);
    case "gave-up":
      return gaveUpMessage(message, presentation.contact);
  }
}
