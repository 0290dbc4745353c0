import type { ActionsBlock, Button } from "@slack/types";
import { formatDuration } from "../core/duration.ts";
import type { Outcome } from "../core/outcome.ts";
import { outcomeText } from "../core/outcome-text.ts";
import type { OutcomeButton } from "../core/outcome-text.ts";
import { cut } from "../core/text.ts";
import type { Turn } from "../core/turn.ts";
import { KEEP_WATCHING, TRY_AGAIN, VIEW_PULL_REQUEST, buttonValue } from "./actions.ts";
import { awayText } from "./away-text.ts";
import { context, plainSection, quoteText, section } from "./blocks.ts";
import type { Rendered } from "./blocks.ts";
import { NAME_MAX, SAID_MAX } from "./limits.ts";
import { cutEscaped, escapeMrkdwn } from "./mrkdwn.ts";
import type { Presentation } from "./presentation.ts";
import { pullRequestLink } from "./pull-request-link.ts";

/** The notification that a turn has ended: mentions the requester, says what happened and what to do next. */
export function outcomeMessage(
  turn: Turn,
  outcome: Outcome,
  watch: number,
  away: string | null,
  view: Pick<Presentation, "watchedFor" | "httpOrigins"> & { botName: string },
): Rendered {
  const text = outcomeText(outcome, view.watchedFor);
  const prLink = outcome.job?.prLink ?? null;
  const link = prLink === null ? null : pullRequestLink(prLink, view.httpOrigins);
  // "Review it and merge it" is no advice for what cannot be trusted.
  const detail =
    prLink !== null && link === null ? "Look for the pull request in the repository." : text.detail;
  const lead = `${text.symbol} <@${turn.request.userId}> ${text.headline}`;
  const buttons = text.buttons.flatMap((name) => button(name, turn, watch, link?.url ?? null));
  const actions: ActionsBlock[] = buttons.length === 0 ? [] : [{ type: "actions", elements: buttons }];
  return {
    text: [lead, link === null ? "" : `<${escapeMrkdwn(link.url)}>`, detail]
      .filter((part) => part !== "")
      .join(" "),
    blocks: [
      ...(away === null ? [] : [section(awayText(turn.request.channelId, away, view.botName))]),
      section(
        link === null
          ? `${lead}\n${detail}`
          : `${lead}\n<${escapeMrkdwn(link.url)}|${cutEscaped(link.label, NAME_MAX)}>\n${detail}`,
      ),
      ...(prLink !== null && link === null
        ? [
            plainSection(
              `The job service gave this as the pull request, which is no link I can trust: ${cut(prLink, SAID_MAX)}`,
            ),
          ]
        : []),
      ...(away === null ? [] : [quoteText(cut(turn.request.instructions, SAID_MAX))]),
      ...(outcome.said === null || outcome.said === ""
        ? []
        : [plainSection("The job service said:"), quoteText(cut(outcome.said, SAID_MAX))]),
      context(facts(outcome)),
      ...actions,
    ],
  };
}

function facts(outcome: Outcome): string[] {
  const { job } = outcome;
  const named: [string, string | null][] = [
    ["Repository", job?.repository ?? null],
    ["Branch", job?.ref ?? null],
    ["Model", job?.model ?? null],
    ["Took", formatDuration(outcome.tookMs)],
    ["Job", job?.id ?? null],
  ];
  return named.flatMap(([name, value]) =>
    value === null || value === "" ? [] : [`${name}: ${cut(value, NAME_MAX)}`],
  );
}

function button(name: OutcomeButton, turn: Turn, watch: number, url: string | null): Button[] {
  switch (name) {
    case "view-pull-request":
      if (url === null) return [];
      return [{ ...labelled(VIEW_PULL_REQUEST, "View pull request"), url, style: "primary" }];
    case "try-again":
      return [{ ...labelled(TRY_AGAIN, "Try again"), value: buttonValue({ turnId: turn.id, watch }) }];
    case "keep-watching":
      return [
        { ...labelled(KEEP_WATCHING, "Keep watching"), value: buttonValue({ turnId: turn.id, watch }) },
      ];
  }
}

function labelled(actionId: string, label: string): Button {
  return { type: "button", action_id: actionId, text: { type: "plain_text", text: label } };
}
