import type { ReactionChange } from "../ports/notifier.ts";
import { upToMinute, utcTimeOfDay } from "./text.ts";
import { endingOf, cameToNothing, type Outcome } from "../turn/outcome.ts";
import { diffText, type OutcomeWords } from "./outcome-text.ts";
import { sharedTexts } from "../turn/shared.ts";
import type { TurnProgress } from "../job/told-turn.ts";
import { isAsking, isFollowUp, type Turn } from "../turn/turn.ts";
import type { Request } from "../turn/request.ts";

/** Names what a status message shows: as long as it stays the same, the message is not touched. */
export function statusKey(turn: Turn): string {
  const state = stateOf(turn);
  const { plan, step = null } = shownProgress(turn) ?? {};
  // A character for each step of the plan: how far it is.
  const planned = plan?.map(({ status }) => status[0]).join("") ?? null;
  const progress = [planned, step].filter((part) => part !== null);
  return progress.length === 0 ? state : `${state}${BEFORE_STEP}${progress.join(" ")}`;
}

/** Whether the message shows the turn's state, and only the agent's latest step is missing. */
export function isOnlyStepNew(turn: Turn): boolean {
  const { shown } = turn.delivery;
  if (shown === null || shown === statusKey(turn)) return false;
  return shown.split(BEFORE_STEP, 1)[0] === stateOf(turn);
}

/** No state has it in its name. */
const BEFORE_STEP = ": ";

function stateOf(turn: Turn): string {
  const shared = sharedTexts(turn).join("; ");
  return shared === "" ? newsKey(turn) : `${newsKey(turn)} (${shared})`;
}

function newsKey(turn: Turn): string {
  return turn.isStartedAnew === true ? `anew-${stageKey(turn)}` : stageKey(turn);
}

function stageKey(turn: Turn): string {
  const { stage, watch } = turn;
  if (isStopping(turn)) return isInTrouble(turn) ? `stopping-${watch}-trouble` : `stopping-${watch}`;
  switch (stage.name) {
    case "accepted":
    case "submitting":
      if (stage.waitingSince === null) return "accepted";
      return stage.limitedUntil === undefined
        ? "waiting"
        : `limited until ${utcTimeOfDay(upToMinute(stage.limitedUntil))}`;
    case "watching":
      if (stage.troubleSince !== null) return `watching-${watch}-trouble`;
      if (isAsking(turn)) return `watching-${watch}-asking`;
      // It reads the same.
      return isStarting(turn) ? "accepted" : `watching-${watch}`;
    case "ended":
      return `ended-${watch}`;
  }
}

/** The agent's plan, while it works by it and can be reached. */
export function planOf(turn: Turn): TurnProgress["plan"] | null {
  return shownProgress(turn)?.plan ?? null;
}

/** How far the agent is, while it works and can be reached. */
function shownProgress(turn: Turn): TurnProgress | undefined {
  const { stage } = turn;
  if (stage.name !== "watching" || stage.troubleSince !== null) return undefined;
  return isStopping(turn) || isAsking(turn) ? undefined : stage.progress;
}

/** Somebody has stopped it, and it has not ended yet. */
function isStopping({ stage, stop }: Turn): boolean {
  return stop !== undefined && stage.name !== "ended";
}

function isInTrouble({ stage }: Turn): boolean {
  return stage.name === "watching" && stage.troubleSince !== null;
}

/** Nobody works on it yet. A follow-up has been sent, which is news. */
function isStarting(turn: Turn): boolean {
  const { stage } = turn;
  return stage.name === "watching" && stage.progress?.isWaiting === true && !isFollowUp(turn);
}

const STARTING = "⏳ Starting…";

const STOPPING = "⏹️ Stopping…";

const TROUBLE = "I can't reach the agent right now. I'll keep trying.";

/** The agent works, and says nothing of what it does. */
export const WORKING = "🔧 The agent is working.";

const FOLLOW_UP_SENT = "🔧 Follow-up sent to the agent.";

/**
 * What the status message says of a turn: plain text, if `words` are. It may hold untrusted text,
 * bounded.
 */
export function statusText(turn: Turn, words: Pick<OutcomeWords, "watchedFor" | "pr">): string {
  const { stage } = turn;
  if (isStopping(turn)) return isInTrouble(turn) ? `${STOPPING} ${TROUBLE}` : STOPPING;
  switch (stage.name) {
    case "accepted":
    case "submitting":
      if (stage.waitingSince === null) return STARTING;
      return stage.limitedUntil === undefined
        ? "⏳ The agent is unavailable. Your request is saved and starts when it's back."
        : "⏳ The agent has reached its limit. Your request is saved and starts around " +
            `${utcTimeOfDay(upToMinute(stage.limitedUntil))}.`;
    case "watching": {
      if (stage.troubleSince !== null) return `⚠️ ${TROUBLE}`;
      if (isAsking(turn)) return "💬 Waiting for an answer";
      if (isStarting(turn)) return STARTING;
      const step = stage.progress?.step;
      if (step) return `🔧 ${step}`;
      return isFollowUp(turn) ? FOLLOW_UP_SENT : WORKING;
    }
    case "ended":
      return outcomeLine(stage.outcome, words);
  }
}

/** How a turn ended, in a line. */
function outcomeLine(outcome: Outcome, words: Pick<OutcomeWords, "watchedFor" | "pr">): string {
  const { told } = outcome;
  const ending = endingOf(outcome);
  switch (ending) {
    case "pull-request": {
      // Not its title: that may be about the first turn alone, while the size is that of all of
      // them.
      const parts = [words.pr ?? "Pull request ready", diffText(told?.pullRequest)];
      return `✅ ${parts.filter((part) => part !== "").join(", ")}`;
    }
    case "branch":
      return told?.branch ? `✅ Changes on branch ${told.branch}` : "✅ Changes on a branch";
    case "no-changes":
      return outcome.isUnsure === true ? "➖ No pull request" : "➖ No changes";
    case "failed":
      return "❌ Couldn't finish";
    case "canceled":
      return "⏹️ Stopped";
    case "withdrawn":
      return "⏹️ Canceled before it started";
    case "unwatched":
      return "⏹️ Updates stopped";
    case "archived":
      return "🗄️ Archived";
    case "expired":
      return outcome.reason === "never-started" ? "⌛ Not started" : `⌛ Not done after ${words.watchedFor}`;
    case "missing":
    case "unknown":
      return "❓ Result unknown";
    case "rejected":
      return "⛔ Refused";
  }
}

const REACTIONS = ["eyes", "white_check_mark", "x"] as const;

/**
 * The message that asked, under which reactions show how it stands. Null: nobody wrote one, as with
 * a command.
 */
export function askingMessage({
  teamId,
  channelId,
  messageTs,
  quoted,
}: Request): { teamId: string; channelId: string; ts: string } | null {
  if (messageTs !== undefined) return { teamId, channelId, ts: messageTs };
  return quoted === null ? null : { teamId, channelId: quoted.channelId, ts: quoted.ts };
}

/** How a turn stands, as a reaction; null: it was stopped or archived, which is neither. */
export function reactionOf({ stage }: Turn): ReactionChange["name"] | null {
  if (stage.name !== "ended") return "eyes";
  const { outcome } = stage;
  if (cameToNothing(outcome)) return "x";
  return ["pull-request", "branch", "no-changes"].includes(endingOf(outcome)) ? "white_check_mark" : null;
}

/**
 * The changes that bring the message to what a turn's state shows; each is harmless where it is so
 * already.
 */
export function reactionChanges(turn: Turn): ReactionChange[] {
  const shown = reactionOf(turn);
  // Another watch, or another turn of the same message, may have ended before.
  const isFirst = turn.watch === 1 && turn.request.from !== "try-again";
  const before = isFirst ? (["eyes"] as const) : REACTIONS;
  return [
    ...(shown === null ? [] : [{ name: shown, isOn: true }]),
    ...before.filter((name) => name !== shown).map((name) => ({ name, isOn: false })),
  ];
}
