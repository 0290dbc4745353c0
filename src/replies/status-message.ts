import { prLinkOf } from "../core/outcome.ts";
import { statusText } from "../core/status-text.ts";
import { cut } from "../core/text.ts";
import { isFollowUp } from "../core/turn.ts";
import type { Turn } from "../core/turn.ts";
import { awayText } from "./away-text.ts";
import { context, quoteText, section } from "./blocks.ts";
import type { Rendered } from "./blocks.ts";
import { ECHO_MAX, MESSAGE_TEXT_MAX, STATE_MAX } from "./limits.ts";
import { cutEscaped } from "./mrkdwn.ts";
import type { Presentation } from "./presentation.ts";
import { pullRequestLink } from "./pull-request-link.ts";

/** Who asked for what, and how it stands: the message that is updated in place. */
export function statusMessage(
  turn: Turn,
  away: string | null,
  view: Pick<Presentation, "watchedFor" | "httpOrigins"> & { botName: string; showProject: boolean },
): Rendered {
  const { request, stage } = turn;
  const prLink = stage.name === "ended" ? prLinkOf(stage.outcome) : null;
  const link = prLink === null ? null : pullRequestLink(prLink, view.httpOrigins);
  const state = statusText(turn, { watchedFor: view.watchedFor, pr: link?.label ?? null });
  const lead = leadOf(turn);
  const from = away === null ? [] : [section(awayText(request.channelId, away, view.botName))];
  const project = view.showProject ? [`Project: ${request.project.name}`] : [];
  if (away === null && isReply(turn)) {
    const news = turn.isStartedAnew === true ? [ANEW] : [];
    return {
      text: [...news, cutEscaped(state, STATE_MAX)].join("\n"),
      blocks: [...news.map(section), context([state, ...project])],
    };
  }
  return {
    text: `${lead} ${cutEscaped(request.instructions, MESSAGE_TEXT_MAX - 1000)}\n${cutEscaped(state, STATE_MAX)}`,
    blocks: [
      ...from,
      section(lead),
      quoteText(cut(request.instructions, ECHO_MAX)),
      context([state, ...project]),
    ],
  };
}

const ANEW = "That request is closed, so I started a new one.";

/** The message that asked for it stands in the thread, right above. */
function isReply(turn: Turn): boolean {
  return turn.request.from === "mention" && (isFollowUp(turn) || turn.isStartedAnew === true);
}

function leadOf(turn: Turn): string {
  const { request } = turn;
  const who = `<@${request.userId}>`;
  switch (request.from) {
    case "command":
    case "mention":
      if (isFollowUp(turn)) return `${who} followed up:`;
      return `${who} requested a docs change:`;
    case "shortcut":
      return `${who} asked the agent to fix this.`;
    case "try-again":
      return `${who} tried again:`;
  }
}
