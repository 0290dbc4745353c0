import { isPosted, outcomeSlot, settledAt } from "../rules/turn/delivery.ts";
import type { Step, ThreadRecord } from "../rules/records.ts";
import { isStatusReplaced, statusKey } from "../rules/words/status-text.ts";
import type { Task } from "../../shared/queue/task-queue.ts";
import type { Turn } from "../rules/turn/turn.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import { linkedTurn } from "./linked-turn.ts";
import { postExtras, postForTurn, threadRecordOf } from "./post-for-turn.ts";
import {
  DeliverPayload,
  newsTasks,
  previewTask,
  previewTasks,
  refreshTask,
} from "../rules/decisions/new-tasks.ts";
import { changeTurn, readTurnTask } from "../rules/decisions/turn-writes.ts";

/** How long an outcome that Slack doesn't accept holds back those of later requests. */
const HOLDS_BACK_MS = 60 * 60_000;

const FIRST_CHECK_MS = 250;

const LAST_CHECK_MS = 15_000;

/** How many of the turns before this one in the thread are considered. */
const EARLIER_TURNS_MAX = 20;

/**
 * Outcomes that wait for Slack are posted in the order of their requests, which the thread's list
 * of turns gives. Their times don't help if the clock was set back between them. Returns when to
 * look again, epoch milliseconds, or null if this turn's outcome is next.
 */
async function nextCheckForEarlier(
  { records, clock }: Pick<TaskDeps, "records" | "clock">,
  turn: Turn,
  thread: ThreadRecord | undefined,
): Promise<number | null> {
  if (thread === undefined || turn.stage.name !== "ended") return null;
  const now = clock.now();
  const before = thread.turnIds.slice(0, Math.max(0, thread.turnIds.indexOf(turn.id)));
  for (const otherId of before.slice(-EARLIER_TURNS_MAX)) {
    const other = await records.get("turn", otherId);
    // Turns that moved to a direct message are no longer in this thread's order.
    if (other?.stage.name !== "ended" || other.delivery.away !== null) continue;
    if (isPosted(other.delivery, outcomeSlot(other.watch))) continue;
    // If both ends lie far in the future, the clock was set back, and nobody waits for them.
    const waitedMs = now - Math.min(other.stage.at, turn.stage.at);
    if (Math.abs(waitedMs) > HOLDS_BACK_MS) continue;
    return now + Math.min(LAST_CHECK_MS, Math.max(FIRST_CHECK_MS, waitedMs / 4));
  }
  return null;
}

/**
 * Posts the outcome in the thread, once, as a reply, because edits notify nobody. Then the status
 * message is updated, or goes if the outcome says all that it said.
 */
export async function deliver(deps: TaskDeps, given: Task): Promise<Step> {
  const { task, turn } = await readTurnTask(deps, DeliverPayload, given);
  const { watch } = task.payload;
  // Somebody keeps watching. That watch has its own outcome, and this one was posted before the
  // button appeared.
  if (turn.stage.name !== "ended" || turn.watch !== watch) return { kind: "done" };
  const { outcome, at: endedAt } = turn.stage;
  const thread = await threadRecordOf(deps, turn);
  const checkAt = await nextCheckForEarlier(deps, turn, thread);
  if (checkAt !== null) return { kind: "wait", dueAt: checkAt };
  const attempt = await postForTurn(deps, task, turn, outcomeSlot(watch), {
    kind: "outcome",
    turn,
    outcome,
    watch,
    ...(await postExtras(deps, turn, outcomeSlot(watch), thread)),
  });
  if (attempt.kind !== "posted") return attempt.step;
  const linked = await linkedTurn(deps, turn);
  deps.measure({ kind: "outcome-posted", afterMs: deps.clock.now() - endedAt });
  deps.logger.info({ outcome: outcome.kind, away: turn.delivery.away }, "outcome delivered");
  return changeTurn(
    deps,
    turn.id,
    // People can reply to the first message in the direct messages.
    (now) => ({ ...now, delivery: settledAt(attempt.change(now.delivery), outcomeSlot(watch)) }),
    (next) => ({
      adds: [
        ...(statusKey(next) === next.delivery.shown && !isStatusReplaced(next) ? [] : [refreshTask(next)]),
        ...newsTasks(next),
        // The newest result shows the preview, if there is one or was one.
        ...(linked?.pullRequest?.previewAt === undefined || linked.id === next.id
          ? previewTasks(next)
          : [previewTask(linked)]),
      ],
    }),
  );
}
