import type { Request } from "../core/request.ts";
import { statusText } from "../core/status-text.ts";
import { cut } from "../core/text.ts";
import type { Turn } from "../core/turn.ts";
import { awayText } from "./away-text.ts";
import { context, quoteText, section } from "./blocks.ts";
import type { Rendered } from "./blocks.ts";
import { ECHO_MAX, MESSAGE_TEXT_MAX } from "./limits.ts";
import { cutEscaped } from "./mrkdwn.ts";

/** Who asked for what, and how it stands: the message that is updated in place. */
export function statusMessage(
  turn: Turn,
  away: string | null,
  view: { botName: string; showProject: boolean; watchedFor: string },
): Rendered {
  const { request } = turn;
  const { symbol, text } = statusText(turn, view.watchedFor);
  const lead = leadOf(request);
  const state = `${symbol} ${text}`;
  const from = away === null ? [] : [section(awayText(request.channelId, away, view.botName))];
  const project = view.showProject ? [`Project: ${request.project.name}`] : [];
  return {
    text: `${lead} ${cutEscaped(request.instructions, MESSAGE_TEXT_MAX - 1000)}\n${state}`,
    blocks: [
      ...from,
      section(lead),
      quoteText(cut(request.instructions, ECHO_MAX)),
      context([state, ...project]),
    ],
  };
}

function leadOf(request: Request): string {
  const who = `<@${request.userId}>`;
  switch (request.from) {
    case "command":
    case "mention":
      return `${who} asked for a change to the docs:`;
    case "shortcut":
      return `${who} asked to fix the docs because of a message here:`;
    case "try-again":
      return `${who} tried again:`;
  }
}
