import type { KnownBlock, TaskCardBlock, ActionsBlock, Button, Overflow } from "@slack/types";
import type { MessageOf } from "../rules/ports/notifier.ts";
import { isUntyped } from "../rules/turn/request.ts";
import { sharedTexts } from "../rules/thread/messages-to-share.ts";
import { shownLive } from "../rules/words/pull-request-text.ts";
import { WORKING, planOf, statusText } from "../rules/words/status-text.ts";
import { counted, cut } from "../../shared/text/text.ts";
import type { TurnProgress } from "../rules/turn/reported-turn.ts";
import { withLatestTries, isFollowUp, turnPrLink, type Turn } from "../rules/turn/turn.ts";
import { movedBlocks, pageLink, pullRequestLink, type PullRequestLink } from "./links.ts";
import {
  actions,
  context,
  entry,
  linkedLine,
  unstyled,
  quoteText,
  section,
  ECHO_MAX,
  MESSAGE_TEXT_MAX,
  SAID_MAX,
  STATE_MAX,
  TITLE_MAX,
  turnButton,
  OPTION_VALUE_MAX,
  type Rendered,
  type View,
} from "./blocks.ts";
import { cutEscaped } from "./mrkdwn.ts";
import { ACTIONS, followValue } from "./actions.ts";

/**
 * The message that is updated in place: who asked for what, and its state. `followUps` are the
 * other turns it shows, oldest first.
 */
export function statusMessage(
  { turn, followUps = [], movedBecause }: MessageOf<"status">,
  view: View,
): Rendered {
  const { request } = turn;
  const isBare = movedBecause === null && isReply(turn);
  const from = movedBlocks(request, movedBecause, view);
  const typed = isOfItsMessage(turn) && movedBecause === null ? "" : request.instructions;
  const quoted = typed === "" ? [] : [quoteText(cut(typed, ECHO_MAX))];
  const own = isBare ? [] : [section(leadOf(turn)), ...quoted];
  const news = isBare || turn.isStartedAnew === true ? newsOf(turn) : [];
  const [{ latest }, ...others] = withLatestTries([turn, ...followUps]);
  const state = stateOf(latest, view);
  const asked = `${leadOf(turn)} ${cutEscaped(typed, MESSAGE_TEXT_MAX - 1000)}`.trimEnd();
  const shown = others.slice(-FOLLOW_UPS_MAX);
  const more = others.length - shown.length;
  const blocksWith = (stateBlocks: (state: State, id: string) => KnownBlock[]): KnownBlock[] => [
    ...from,
    ...own,
    ...[...news, ...retriedBy(turn, latest)].map(section),
    ...stateBlocks(state, "request"),
    ...sharedOf(turn),
    ...(view.projects.length > 1 ? [context([`Project: ${request.project.name}`])] : []),
    ...(more === 0 ? [] : [context([counted(more, "earlier follow-up")])]),
    ...shown.flatMap(({ turn: followUp, latest: newest }, n) => [
      section([leadOf(followUp), ...newsOf(followUp)].join("\n")),
      quoteText(cut(followUp.request.instructions, SAID_MAX)),
      ...retriedBy(followUp, newest).map(section),
      ...stateBlocks(stateOf(newest, view), `follow-up-${n + 1}`),
      ...sharedOf(followUp),
    ]),
    ...statusActions([turn, ...followUps]),
  ];
  return {
    text: [...(isBare ? news : [asked]), cutEscaped(state.line, STATE_MAX), ...pageText(state)].join("\n"),
    blocks: blocksWith((each, id) => workBlocks(each, id) ?? plainState(each)),
    ...([turn, ...followUps].some(({ stage }) => stage.name !== "ended")
      ? { plainBlocks: blocksWith(plainState) }
      : {}),
  };
}

/** The most follow-ups that one message shows. The newest are kept. */
const FOLLOW_UPS_MAX = 5;

/** A turn's state: a line of plain text, and the pull request it names, if that is safe to link. */
type State = {
  line: string;
  link: PullRequestLink | null;
  plan: TurnProgress["plan"] | null;
  /** Where its change is on the site, if that is safe to link. */
  page: { line: string; link: PullRequestLink } | null;
};

function stateOf(turn: Turn, { watchedFor, httpOrigins }: View): State {
  const link = pullRequestLink(turnPrLink(turn), httpOrigins);
  const said = statusText(turn, { watchedFor, pr: link?.label ?? null });
  const line = said === WORKING ? `${WORKING} I'll reply here when it's done.` : said;
  return { line, link, plan: planOf(turn), page: pageOf(turn, httpOrigins) };
}

function pageOf(turn: Turn, httpOrigins: View["httpOrigins"]): State["page"] {
  const page = shownLive(turn);
  const link = page === null ? null : pageLink(page, httpOrigins);
  return link && { line: `Live: ${link.label}`, link };
}

function pageText({ page }: State): string[] {
  return page === null ? [] : [cutEscaped(page.line, STATE_MAX)];
}

/** Beginnings of the lines that Slack can draw as work in progress. */
const WORK = { "⏳ ": "pending", "🔧 ": "in_progress" } as const;
const STEP = { pending: "pending", "in-progress": "in_progress", completed: "complete" } as const;

/** Unfinished work as Slack draws it: a plan or one task. Null if the work isn't under way. */
function workBlocks({ line, plan }: State, id: string): KnownBlock[] | null {
  const [symbol, status] = Object.entries(WORK).find(([start]) => line.startsWith(start)) ?? [];
  if (symbol === undefined || status === undefined) return null;
  const title = cut(line.slice(symbol.length), TITLE_MAX);
  if (plan === null || plan === undefined) return [{ type: "task_card", task_id: id, title, status }];
  const tasks = plan.map((step, n): TaskCardBlock => ({
    type: "task_card",
    task_id: `${id}-${n + 1}`,
    title: cut(step.text, TITLE_MAX),
    status: STEP[step.status],
  }));
  return [{ type: "plan", title, tasks }];
}

/**
 * A state as plain blocks. A state that will change is small print; a pull request stays and
 * becomes a link.
 */
function plainState({ line, link, page }: State): KnownBlock[] {
  const pages = page === null ? [] : [linkedLine(page.line, page.link)];
  const isNamed = link !== null && line.includes(link.label);
  return [isNamed ? linkedLine(line, link) : context([line]), ...pages];
}

function newsOf({ isStartedAnew, isSeparate }: Turn): string[] {
  if (isStartedAnew === true) return ["That request is closed, so I started a new one."];
  return isSeparate === true ? ["This is a separate request."] : [];
}

/** Who tried it again last. The request is shown above. */
function retriedBy(turn: Turn, latest: Turn): string[] {
  return latest === turn ? [] : [leadOf(latest)];
}

function sharedOf(turn: Turn): KnownBlock[] {
  const shared = sharedTexts(turn);
  return shared.length === 0 ? [] : [context(shared)];
}

/** True if the message that asked is in the thread, right above. */
function isReply(turn: Turn): boolean {
  const isNext = isFollowUp(turn) || turn.isStartedAnew === true || turn.isSeparate === true;
  return turn.request.from === "mention" && turn.request.messageTs !== undefined && isNext;
}

/**
 * True if the requester typed nothing. The message that they picked says it all, and it is in the
 * thread.
 */
function isOfItsMessage({ request }: Turn): boolean {
  return isOfMessage(request) && isUntyped(request);
}

/** True if the request is about a message that its thread shows or that was forwarded. */
function isOfMessage({ from, beside }: Turn["request"]): boolean {
  return from === "shortcut" || (from === "mention" && beside !== undefined);
}

function leadOf(turn: Turn): string {
  const { request } = turn;
  const who = `<@${request.userId}>`;
  const isFirst = request.from === "shortcut" && !isFollowUp(turn);
  if (isFirst || isOfItsMessage(turn)) {
    return request.changesNothing === true
      ? `${who} asked the agent about this.`
      : `${who} asked the agent to fix this.`;
  }
  if (request.from === "try-again") return `${who} tried again:`;
  const isNext = isFollowUp(turn) || turn.isStartedAnew === true;
  if (isNext) return `${who} followed up:`;
  return request.changesNothing === true ? `${who} asked a question:` : `${who} requested a docs change:`;
}

/**
 * The buttons for the turns of a status message, beginning with its own. Empty once all have ended.
 */
function statusActions(shown: readonly [Turn, ...Turn[]]): ActionsBlock[] {
  const open = shown.filter(({ stage }) => stage.name !== "ended");
  const [owner] = shown;
  const elements = [
    ...(open.some(({ stop }) => stop === undefined) ? [stopButton(owner)] : []),
    ...(open.length > 0 ? followMenu(owner) : []),
  ];
  return actions(elements);
}

/** A button that stops the turn and the others that its status message shows. */
export function stopButton(turn: Turn): Button {
  return {
    ...turnButton(ACTIONS.stopTurn, "Stop", turn),
    confirm: {
      title: unstyled("Stop this request?"),
      text: unstyled("If the agent can't be stopped, only the updates here stop."),
      confirm: unstyled("Stop"),
      deny: unstyled("Cancel"),
      style: "danger",
    },
  };
}

function followMenu({ id: turnId }: Turn): Overflow[] {
  const options = [
    entry("Mention me in the result", followValue.write({ turnId, choice: "follow" })),
    entry("Don't mention me in this thread", followValue.write({ turnId, choice: "mute" })),
  ];
  // An id is derived from what Slack sent, so it could be longer than any so far.
  const isTooLong = options.some(({ value }) => value.length > OPTION_VALUE_MAX);
  return isTooLong ? [] : [{ type: "overflow", action_id: ACTIONS.followMenu, options }];
}
