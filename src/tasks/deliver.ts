import { isPosted, outcomeSlot } from "../core/turn/delivery.ts";
import type { ThreadRecord } from "../core/ports/records.ts";
import { statusKey } from "../core/text/status-text.ts";
import type { Step, Task } from "../core/ports/task-queue.ts";
import type { Turn } from "../core/turn/turn.ts";
import type { TaskDeps } from "../decisions/deps.ts";
import { aside, postForTurn, threadRecordOf } from "./post-for-turn.ts";
import { refreshTask, DeliverPayload } from "../decisions/new-tasks.ts";
import { readTurnTask, turnNow, turnWrites } from "../decisions/turn-writes.ts";

/** How long an outcome that Slack doesn't take holds back those of later requests. */
const HOLDS_BACK_MS = 60 * 60_000;

const FIRST_LOOK_MS = 250;

const LAST_LOOK_MS = 15_000;

/** How many turns of the thread are looked at: the newest before this one. */
const LOOKED_AT = 20;

/**
 * Of the outcomes that wait for Slack, the one of the earlier request stands first in the thread.
 * The thread's list of turns says which that is: their times are of no use if the clock was set
 * back between them. Returns when to look again, epoch milliseconds, or null if this turn's outcome
 * is the next.
 */
async function whenToLookForEarlier(
  { records, clock }: Pick<TaskDeps, "records" | "clock">,
  turn: Turn,
  thread: ThreadRecord | undefined,
): Promise<number | null> {
  if (thread === undefined || turn.stage.name !== "ended") return null;
  const now = clock.now();
  const before = thread.turnIds.slice(0, Math.max(0, thread.turnIds.indexOf(turn.id)));
  for (const otherId of before.slice(-LOOKED_AT)) {
    const other = await records.turn.get(otherId);
    // What moved to a direct message is no longer in this thread's order.
    if (other?.stage.name !== "ended" || other.delivery.away !== null) continue;
    if (isPosted(other.delivery, outcomeSlot(other.watch))) continue;
    // Where both ends lie far in the future, the clock was set back, and nobody waits for them.
    const waitedMs = now - Math.min(other.stage.at, turn.stage.at);
    if (Math.abs(waitedMs) > HOLDS_BACK_MS) continue;
    return now + Math.min(LAST_LOOK_MS, Math.max(FIRST_LOOK_MS, waitedMs / 4));
  }
  return null;
}

/**
 * Says the outcome in the thread, once, as a reply (edits notify nobody); then the status message
 * is brought up to date.
 */
export async function deliver(deps: TaskDeps, given: Task): Promise<Step> {
  const { task, turn } = await readTurnTask(deps, DeliverPayload, given);
  const { watch } = task.payload;
  // Somebody keeps watching: that watch has an outcome of its own, and this one was said before the
  // button was there.
  if (turn.stage.name !== "ended" || turn.watch !== watch) return { kind: "done" };
  const { outcome } = turn.stage;
  const thread = await threadRecordOf(deps, turn);
  const lookAt = await whenToLookForEarlier(deps, turn, thread);
  if (lookAt !== null) return { kind: "wait", dueAt: lookAt };
  const attempt = await postForTurn(deps, task, turn, outcomeSlot(watch), {
    kind: "outcome",
    turn,
    outcome,
    watch,
    ...aside(turn, outcomeSlot(watch), thread),
  });
  if (attempt.kind !== "posted") return attempt.step;
  deps.logger.info({ outcome: outcome.kind, away: turn.delivery.away }, "outcome delivered");
  return (read) => {
    const now = turnNow(read, turn.id);
    const delivery = attempt.change(now.delivery);
    const slot = delivery.slots[outcomeSlot(watch)];
    const delivered: Turn = {
      ...now,
      delivery: {
        ...delivery,
        channelId: slot?.channelId ?? delivery.channelId,
        // The first that is posted in the direct messages is where one can reply there.
        threadTs: delivery.threadTs ?? slot?.ts ?? null,
      },
    };
    return {
      writes: turnWrites(deps, read, delivered),
      adds: statusKey(delivered) === delivered.delivery.shown ? [] : [refreshTask(delivered)],
      value: { kind: "done" },
    };
  };
}
