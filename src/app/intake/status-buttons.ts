import type { App } from "@slack/bolt";
import { maySteer, followTurn, muteIn, notAllowed } from "../rules/thread/people.ts";
import { hasOpenPullRequest, stopTurn, type Turn } from "../rules/turn/turn.ts";
import { ACTIONS, buttonValue, followValue } from "../messages/actions.ts";
import * as shortAnswers from "../messages/short-answers.ts";
import { changesOf, threadWrite, turnWrites } from "../rules/decisions/turn-writes.ts";
import { cancelTask, refreshTask } from "../rules/decisions/new-tasks.ts";
import { shownBy } from "../rules/thread/follow-up.ts";
import type { IntakeDeps } from "./deps.ts";
import { alreadyDone, onPress, tooOld, type PressAnswer } from "./press.ts";
import { STATUS_SLOT } from "../rules/turn/delivery.ts";
import { type Plan, type Read, type ThreadRecord, threadId } from "../rules/records.ts";

/**
 * Handles **Stop** in a status message or overdue notice, and the menu beside it, where people
 * choose whether to be mentioned.
 */
export function registerStatusButtons(app: App, deps: IntakeDeps): void {
  onPress(app, deps, ACTIONS.stopTurn, buttonValue, ({ turnId }, { user }) =>
    deps.queue.commit((read) => stopping(deps, read, turnId, user.id)),
  );
  onPress(app, deps, ACTIONS.followMenu, followValue, ({ turnId, choice }, { user }) => {
    const decide = choice === "mute" ? muting : following;
    return deps.queue.commit((read) => decide(deps, read, turnId, user.id));
  });
}

/** Stops every unfinished turn that the message shows, for a person who may. */
export function stopping(deps: IntakeDeps, read: Read, turnId: string, userId: string): Plan<PressAnswer> {
  const owner = read("turn", turnId);
  if (owner === undefined) return { value: tooOld(deps) };
  const shown = shownBy(read, owner);
  const open = shown.filter(({ stage }) => stage.name !== "ended");
  const [first] = open;
  if (first === undefined) return { value: stoppedAlready(shown, userId) ?? shortAnswers.FINISHED };
  const own = open.filter((turn) => maySteer(deps.followUps, turn, userId));
  if (own.length === 0) return { value: notAllowed(first) };
  const running = own.filter(({ stop }) => stop === undefined);
  const before = own.find(({ stop }) => stop !== undefined)?.stop;
  if (running.length === 0 && before !== undefined) return { value: alreadyDone(before.userId, userId) };
  const at = deps.clock.now();
  const logger = deps.logger.child({ turn: turnId });
  const stopped = running.map((turn) => stopTurn(turn, { userId, at }));
  const { next, writes, adds } = changesOf({ ...deps, logger }, read, stopped);
  return {
    writes,
    adds: [
      ...adds,
      ...next.flatMap((turn) => (turn.stage.name === "watching" ? [cancelTask(turn)] : [])),
      refreshTask(owner),
    ],
    value: null,
  };
}

/** The answer if the newest turn ended because somebody stopped it. */
function stoppedAlready(shown: readonly Turn[], userId: string): string | null {
  const stage = shown.at(-1)?.stage;
  const stoppedBy = stage?.name === "ended" ? stage.outcome.stoppedBy : undefined;
  return stoppedBy === undefined ? null : alreadyDone(stoppedBy, userId);
}

/**
 * Adds a person to those mentioned in the outcomes of all turns that the message shows, and in the
 * news of open pull requests. Returns the answer to them.
 */
export function following(deps: IntakeDeps, read: Read, turnId: string, userId: string): Plan<string> {
  const owner = read("turn", turnId);
  if (owner === undefined) return { value: tooOld(deps) };
  const shown = shownBy(read, owner);
  if (owner.delivery.away !== null) return { value: shortAnswers.FOLLOWED_ELSEWHERE };
  const running = shown.filter(({ stage }) => stage.name !== "ended");
  const linked = shown.filter((turn) => hasOpenPullRequest(turn, deps.clock.now()));
  if (running.length === 0 && linked.length === 0) return { value: endedText(shown) };
  const followed = [...running, ...linked].flatMap((turn) => followTurn(turn, userId) ?? []);
  if (followed.length === 0) return { value: shortAnswers.TOO_MANY_FOLLOWERS };
  const thread = threadRecordNow(read, owner);
  const isMuted = thread?.muted?.includes(userId) === true;
  return {
    writes: [
      ...turnWrites(deps, read, ...followed),
      ...(thread !== null && isMuted ? [threadWrite(deps, muteIn(thread, userId, false))] : []),
    ],
    value: running.length === 0 ? shortAnswers.FOLLOWING_NEWS : shortAnswers.FOLLOWING,
  };
}

/** The answer to a person who wants to follow what has ended. */
function endedText(shown: readonly Turn[]): string {
  const { state } = shown.findLast(({ pullRequest }) => pullRequest !== undefined)?.pullRequest?.latest ?? {};
  if (state === "merged") return shortAnswers.MERGED_MEANWHILE;
  return state === "closed" ? shortAnswers.CLOSED_MEANWHILE : shortAnswers.FINISHED;
}

function muting(deps: IntakeDeps, read: Read, turnId: string, userId: string): Plan<string> {
  const turn = read("turn", turnId);
  if (turn === undefined) return { value: tooOld(deps) };
  const thread = threadRecordNow(read, turn);
  const writes = thread === null ? [] : [threadWrite(deps, muteIn(thread, userId, true))];
  return { writes, value: shortAnswers.MUTED };
}

/** The thread that a turn reports to, or null if its status message isn't known to be there. */
function threadRecordNow(read: Read, { request, delivery }: Turn): ThreadRecord | null {
  const ts = delivery.threadTs ?? delivery.slots[STATUS_SLOT]?.ts ?? null;
  if (ts === null) return null;
  const place = { teamId: request.teamId, channelId: delivery.channelId, ts };
  return read("thread", threadId(place)) ?? { version: 2, ...place, turnIds: [] };
}
