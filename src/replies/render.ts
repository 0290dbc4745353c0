import type { Message } from "../core/ports/notifier.ts";
import type { Rendered, Presentation, TeamView } from "./blocks.ts";
import { changesMessage, newsMessage } from "./pull-request-messages.ts";
import { listMessage, standingMessage } from "./list-message.ts";
import { outcomeMessage } from "./outcome-message.ts";
import { overdueMessage, questionMessage } from "./question-message.ts";
import {
  askMessage,
  askedBeforeMessage,
  gaveUpMessage,
  helpMessage,
  inviteMeMessage,
  keptMessage,
  noWordsMessage,
  notAllowedMessage,
  refusalMessage,
  welcomeMessage,
} from "./private-messages.ts";
import { statusMessage } from "./status-message.ts";

/** Renders any message in Slack's format. */
export function render(message: Message, presentation: Presentation, team: TeamView): Rendered {
  const view = { ...presentation, ...team };
  switch (message.kind) {
    case "status":
      return statusMessage(message, view);
    case "outcome":
      return outcomeMessage(message, view);
    case "question":
      return questionMessage(message, view);
    case "overdue":
      return overdueMessage(message, view);
    case "news":
      return newsMessage(message, view);
    case "kept":
      return keptMessage;
    case "help":
      return message.isOfFiles === true ? noWordsMessage : helpMessage(presentation.projects);
    case "welcome":
      return welcomeMessage();
    case "list":
      return listMessage(message, presentation);
    case "standing":
      return standingMessage(message, presentation);
    case "changes":
      return changesMessage(message, presentation);
    case "ask":
      return askMessage(message.replyId);
    case "asked-before":
      return askedBeforeMessage(message);
    case "not-allowed":
      return notAllowedMessage(message.requesterId, team.botName);
    case "refused":
      return refusalMessage(message.refusal);
    case "invite-me":
      return inviteMeMessage(message.channelId, message.error, team.botName);
    case "gave-up":
      return gaveUpMessage(message, presentation.contact);
  }
}
