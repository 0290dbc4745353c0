import { hash } from "node:crypto";
import type { ReactionChange } from "../ports/notifier.ts";
import { upToMinute, utcTime, utcTimeOfDay } from "../../../shared/text/text.ts";
import { endingOf, cameToNothing, isLeftEmpty, type Outcome, updateOf } from "../turn/outcome.ts";
import { isPosted, outcomeSlot, STATUS_SLOT } from "../turn/delivery.ts";
import { diffText } from "./change-text.ts";
import { shownLive, shownPullRequestState } from "./pull-request-text.ts";
import type { OutcomeWords } from "./outcome-text.ts";
import { sharedTexts } from "../thread/messages-to-share.ts";
import type { TurnProgress } from "../turn/reported-turn.ts";
import { isAsking, isFollowUp, type Turn, type TurnStage } from "../turn/turn.ts";
import type { MessageRef, Request } from "../turn/request.ts";

/** Names what a status message shows. The message is updated only when this changes. */
export function statusKey(turn: Turn): string {
  const state = stateOf(turn);
  const { plan, step = shownPullRequestState(turn) } = shownProgress(turn) ?? {};
  // One character per step of the plan shows how far it is.
  const planned = plan?.map(({ status }) => status[0]).join("") ?? null;
  const page = shownLive(turn);
  // The address itself may be long.
  const shown = page === null ? null : `Live ${hash("sha256", page).slice(0, 12)}`;
  const progress = [planned, step, shown].filter((part) => part !== null);
  return progress.length === 0 ? state : `${state}${BEFORE_STEP}${progress.join(" ")}`;
}

/**
 * True if the message shows the turn's state, and lacks only the agent's latest step or the pull
 * request's state.
 */
export function isOnlyStepNew(turn: Turn): boolean {
  const { shown } = turn.delivery;
  if (shown === null || shown === statusKey(turn)) return false;
  const state = stateOf(turn);
  return shown === state || shown.startsWith(state + BEFORE_STEP);
}

/** Separates the state from the step. No state's name contains it. */
const BEFORE_STEP = ": ";

function stateOf(turn: Turn): string {
  const shared = sharedTexts(turn).join("; ");
  return shared === "" ? newsKey(turn) : `${newsKey(turn)} (${shared})`;
}

function newsKey(turn: Turn): string {
  const { stage, watch } = turn;
  const key = stage.name === "ended" ? `ended-${watch}` : openState(turn, stage).key;
  return turn.isStartedAnew === true ? `anew-${key}` : key;
}

/**
 * True if the outcome of a follow-up says all that its status message says: the outcome is posted,
 * the state of the pull request that it updated is shown elsewhere, and the thread has what was
 * asked: the person's own words, or the news that a button was under. A message that begins a
 * thread, or shows other turns too, stays.
 */
export function isStatusReplaced({ request, stage, watch, delivery, pullRequest }: Turn): boolean {
  const { slots, statusOf, alsoShows = [], away, channelId, threadTs } = delivery;
  const status = slots[STATUS_SLOT];
  if (stage.name !== "ended" || request.follows === undefined || pullRequest !== undefined) return false;
  const isAskedHere =
    request.act !== undefined || (request.from === "mention" && request.messageTs !== undefined);
  if (!isAskedHere) return false;
  const { outcome } = stage;
  const isUpdate =
    endingOf(outcome) === "pull-request" && updateOf(outcome) !== null && !isLeftEmpty(outcome);
  const isAlone = statusOf === undefined && alsoShows.length === 0 && away === null;
  const isReply = (status?.ts ?? null) !== null && status?.ts !== threadTs && status?.channelId === channelId;
  return isUpdate && isAlone && isReply && isPosted(delivery, outcomeSlot(watch));
}

/** The agent's plan while the agent works and can be reached. */
export function planOf(turn: Turn): TurnProgress["plan"] | null {
  return shownProgress(turn)?.plan ?? null;
}

/** The agent's progress while it works and can be reached. */
function shownProgress(turn: Turn): TurnProgress | undefined {
  const { stage } = turn;
  if (stage.name !== "watching" || stage.troubleSince !== null) return undefined;
  return turn.stop !== undefined || isAsking(turn) ? undefined : stage.progress;
}

/** Shown while the agent works without reporting its steps. */
export const WORKING = "🔧 The agent is working.";

/** What the line of an unfinished turn says, and the key that names it. */
function openState(turn: Turn, stage: Exclude<TurnStage, { name: "ended" }>): { key: string; line: string } {
  const { watch, stop } = turn;
  const isInTrouble = stage.name === "watching" && stage.troubleSince !== null;
  const trouble = "I can't reach the agent right now. I'll keep trying.";
  const starting = { key: "accepted", line: "⏳ Starting…" };
  if (stop !== undefined) {
    const stopping = { key: `stopping-${watch}`, line: "⏹️ Stopping…" };
    return isInTrouble ? { key: `${stopping.key}-trouble`, line: `${stopping.line} ${trouble}` } : stopping;
  }
  if (stage.name !== "watching") {
    if (stage.waitingSince === null) return starting;
    if (stage.limitedUntil === undefined) {
      const saved = "Your request is saved and starts when it's back.";
      return { key: "waiting", line: `⏳ The agent is unavailable. ${saved}` };
    }
    const until = utcTimeOfDay(upToMinute(stage.limitedUntil));
    const saved = `Your request is saved and starts around ${until}.`;
    return { key: `limited until ${until}`, line: `⏳ The agent has reached its limit. ${saved}` };
  }
  if (isInTrouble) return { key: `watching-${watch}-trouble`, line: `⚠️ ${trouble}` };
  if (isAsking(turn)) return { key: `watching-${watch}-asking`, line: "💬 Waiting for an answer" };
  const held = stage.progress?.held;
  if (held !== undefined) {
    const until = utcTime(upToMinute(held.until));
    const saved = `Your request is saved and starts after ${until}.`;
    return { key: `held until ${until}`, line: `⏳ ${held.reason} ${saved}` };
  }
  // Nobody works on it yet. For a waiting follow-up, it is news that it was sent.
  if (stage.progress?.isWaiting === true && !isFollowUp(turn)) return starting;
  const step = stage.progress?.step;
  const working = isFollowUp(turn) ? "🔧 Follow-up sent to the agent." : WORKING;
  return { key: `watching-${watch}`, line: step ? `🔧 ${step}` : working };
}

/**
 * A turn's line in the status message. It is plain text if `words` are, and may hold bounded
 * untrusted text.
 */
export function statusText(turn: Turn, words: Pick<OutcomeWords, "watchedFor" | "pr">): string {
  const { stage } = turn;
  if (stage.name !== "ended") return openState(turn, stage).line;
  return pullRequestLine(turn, words) ?? outcomeLine(stage.outcome, words);
}

/**
 * The pull request as it stands now, where that is known. Without its size: a follow-up, or a
 * person's commit, may have changed it since this turn.
 */
function pullRequestLine(turn: Turn, { pr }: Pick<OutcomeWords, "pr">): string | null {
  const state = shownPullRequestState(turn);
  if (state === null) return null;
  return pr === null ? state : `${state}: ${pr}`;
}

const NOTHING_LEFT = "➖ Nothing left to merge";

function outcomeLine(outcome: Outcome, words: Pick<OutcomeWords, "watchedFor" | "pr">): string {
  const { told: report } = outcome;
  const ending = endingOf(outcome);
  switch (ending) {
    case "pull-request": {
      // The title is left out, since it may describe the first turn alone while the size covers all
      // turns.
      if (isLeftEmpty(outcome)) return words.pr === null ? NOTHING_LEFT : `${NOTHING_LEFT}: ${words.pr}`;
      const isDraft = report?.pullRequest?.isDraft === true;
      const name = words.pr ?? "Pull request ready";
      const parts = [name, isDraft ? "draft" : "", diffText(report?.pullRequest)];
      return `${isDraft ? "📝" : "✅"} ${parts.filter((part) => part !== "").join(", ")}`;
    }
    case "branch":
      return report?.branch ? `✅ Changes on branch ${report.branch}` : "✅ Changes on a branch";
    case "no-changes":
      if (report?.answer !== undefined) return "💬 Answered";
      return outcome.isUnsure === true ? "➖ No pull request" : "➖ No changes";
    case "expired":
      return outcome.reason === "never-started" ? "⌛ Not started" : `⌛ Not done after ${words.watchedFor}`;
    case "rejected":
      return outcome.isDeclined === true ? "⛔ Not started" : "⛔ Refused";
    default:
      return ENDED[ending];
  }
}

/** The lines of outcomes that are alike for all turns. */
const ENDED = {
  failed: "❌ Couldn't finish",
  canceled: "⏹️ Stopped",
  withdrawn: "⏹️ Canceled before it started",
  unwatched: "⏹️ Updates stopped",
  passed: "❓ See the follow-up's result",
  archived: "🗄️ Archived",
  missing: "❓ Result unknown",
  unknown: "❓ Result unknown",
} as const;

const REACTIONS = ["eyes", "white_check_mark", "x"] as const;

/** The message that asked, which gets the reactions. Null if there is none, as with a command. */
export function askingMessage({ teamId, channelId, messageTs, quoted }: Request): MessageRef | null {
  if (messageTs !== undefined) return { teamId, channelId, ts: messageTs };
  return quoted === null ? null : { teamId, channelId: quoted.channelId, ts: quoted.ts };
}

/** A turn's state as a reaction. Null if it was stopped or archived. */
export function reactionOf({ stage }: Turn): ReactionChange["name"] | null {
  if (stage.name !== "ended") return "eyes";
  const { outcome } = stage;
  if (cameToNothing(outcome)) return "x";
  return ["pull-request", "branch", "no-changes"].includes(endingOf(outcome)) ? "white_check_mark" : null;
}

/**
 * The changes that make the message's reactions match the turn's state. Repeating them is harmless.
 */
export function reactionChanges(turn: Turn): ReactionChange[] {
  const shown = reactionOf(turn);
  // Another watch or another turn of this message may have left a reaction.
  const isFirst = turn.watch === 1 && turn.request.from !== "try-again";
  const before = isFirst ? (["eyes"] as const) : REACTIONS;
  return [
    ...(shown === null ? [] : [{ name: shown, isOn: true }]),
    ...before.filter((name) => name !== shown).map((name) => ({ name, isOn: false })),
  ];
}
