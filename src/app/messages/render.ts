import type { Message, MessageOf } from "../rules/ports/notifier.ts";
import type { Rendered, Presentation, TeamView, View } from "./blocks.ts";
import { changesMessage, newsMessage, notClosedMessage, rawChangeMessage } from "./pull-request-messages.ts";
import { homeView } from "./home-view.ts";
import { listMessage, overviewMessage } from "./list-message.ts";
import { outcomeMessage } from "./outcome-message.ts";
import { overdueMessage, questionMessage } from "./question-message.ts";
import {
  askMessage,
  askProjectMessage,
  askWhichMessage,
  askedBeforeMessage,
  gaveUpMessage,
  inviteMeMessage,
  keptMessage,
  notAllowedMessage,
  ownAnswerMessage,
  unheardMessage,
  welcomeMessage,
} from "./private-messages.ts";
import { refusalMessage } from "./refusal-message.ts";
import { statusMessage } from "./status-message.ts";

/** How each kind of message looks in Slack. */
const renderers: { [K in Message["kind"]]: (message: MessageOf<K>, view: View) => Rendered } = {
  status: statusMessage,
  outcome: outcomeMessage,
  question: questionMessage,
  overdue: overdueMessage,
  news: newsMessage,
  kept: () => keptMessage,
  help: ownAnswerMessage,
  welcome: welcomeMessage,
  home: homeView,
  list: listMessage,
  overview: overviewMessage,
  changes: changesMessage,
  "raw-change": rawChangeMessage,
  "not-closed": notClosedMessage,
  ask: askMessage,
  "ask-which": askWhichMessage,
  "ask-project": askProjectMessage,
  "asked-before": askedBeforeMessage,
  "not-allowed": notAllowedMessage,
  refused: ({ refusal }, view) => refusalMessage(refusal, view),
  "invite-me": inviteMeMessage,
  unheard: unheardMessage,
  "gave-up": gaveUpMessage,
};

/** Renders any message in Slack's format. */
export function render<K extends Message["kind"]>(
  message: MessageOf<K>,
  presentation: Presentation,
  team: TeamView,
): Rendered {
  return renderers[message.kind](message, { ...presentation, ...team });
}
