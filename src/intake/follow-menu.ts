import type { App, BlockAction, OverflowAction } from "@slack/bolt";
import { STATUS_SLOT } from "../core/delivery.ts";
import { followTurn, muteIn } from "../core/mentions.ts";
import { threadId } from "../core/records.ts";
import type { Read, ThreadRecord, Write } from "../core/records.ts";
import type { Decision, Plan } from "../core/task-queue.ts";
import type { Turn } from "../core/turn.ts";
import { FOLLOW_MENU, followValue } from "../replies/actions.ts";
import { shownBy, turnWrites } from "../tasks/turn-writes.ts";
import {
  FINISHED,
  FOLLOWING,
  MUTED,
  FOLLOWED_ELSEWHERE,
  TOO_MANY_FOLLOWERS,
} from "../replies/short-answers.ts";
import type { IntakeDeps } from "./deps.ts";
import { takePress, tooOld } from "./press.ts";

/** The menu beside **Stop**: who wants to be mentioned, and who doesn't. */
export function registerFollowMenu(app: App, deps: IntakeDeps): void {
  app.action<BlockAction<OverflowAction>>(FOLLOW_MENU, (press) =>
    takePress(
      deps,
      press,
      followValue.read(press.action.selected_option.value),
      async ({ turnId, choice }) => {
        const decide = choice === "mute" ? muting : following;
        return deps.queue.commit(decide(deps, turnId, press.body.user.id));
      },
    ),
  );
}

/** Notes that somebody wants to be mentioned in the outcomes of all that the turn's message shows. What to say to them. */
export function following(deps: IntakeDeps, turnId: string, userId: string): Decision<string> {
  return (read): Plan<string> => {
    const host = read("turn", turnId);
    if (host === undefined) return { value: tooOld(deps) };
    const shown = shownBy(read, host);
    if (host.delivery.away !== null) return { value: FOLLOWED_ELSEWHERE };
    const open = shown.filter(({ stage }) => stage.name !== "ended");
    if (open.length === 0) return { value: FINISHED };
    const followed = open.flatMap((turn) => followTurn(turn, userId) ?? []);
    if (followed.length === 0) return { value: TOO_MANY_FOLLOWERS };
    const thread = threadOf(read, host);
    const isMuted = thread?.muted?.includes(userId) === true;
    return {
      writes: [
        ...turnWrites(deps, read, ...followed),
        ...(thread !== null && isMuted ? [threadWrite(deps, muteIn(thread, userId, false))] : []),
      ],
      value: FOLLOWING,
    };
  };
}

function muting(deps: IntakeDeps, turnId: string, userId: string): Decision<string> {
  return (read): Plan<string> => {
    const turn = read("turn", turnId);
    if (turn === undefined) return { value: tooOld(deps) };
    const thread = threadOf(read, turn);
    const writes = thread === null ? [] : [threadWrite(deps, muteIn(thread, userId, true))];
    return { writes, value: MUTED };
  };
}

/** The thread that a turn reports into; null: its status message isn't known to be there. */
function threadOf(read: Read, { request, delivery }: Turn): ThreadRecord | null {
  const ts = delivery.threadTs ?? delivery.slots[STATUS_SLOT]?.ts ?? null;
  if (ts === null) return null;
  const place = { teamId: request.teamId, channelId: delivery.channelId, ts };
  return read("thread", threadId(place)) ?? { version: 2, ...place, turnIds: [] };
}

function threadWrite({ polling, retentionMs }: IntakeDeps, record: ThreadRecord): Write {
  return { kind: "thread", id: threadId(record), record, ttlMs: polling.deadlineMs + retentionMs };
}
