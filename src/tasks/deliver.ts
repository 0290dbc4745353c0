import { z } from "zod";
import { hasStatusMessage, outcomeSlot } from "../core/delivery.ts";
import { statusKey } from "../core/status-text.ts";
import type { NewTask, Step, Task } from "../core/task-queue.ts";
import type { Turn } from "../core/turn.ts";
import type { TaskDeps } from "./deps.ts";
import { mutedIn, awayOfPost, postForTurn } from "./post-for-turn.ts";
import { TurnPayload, readPayload, turnPayload } from "./payload.ts";
import { refreshTask } from "./refresh.ts";
import { requireTurn, turnWrites } from "./turn-writes.ts";

const DeliverPayload = TurnPayload.extend({ watch: z.number().int() });
type DeliverPayload = z.infer<typeof DeliverPayload>;

/**
 * What is to be added whenever a turn may have become ready for its outcome: it has ended, and its status message is there. One per
 * watch of a turn: the task's id is what makes the outcome one.
 */
export function deliverTasks(turn: Turn): NewTask[] {
  if (turn.stage.name !== "ended" || !hasStatusMessage(turn.delivery)) return [];
  const slot = turn.delivery.slots[outcomeSlot(turn.watch)];
  if (slot !== undefined && slot.ts !== null) return [];
  const payload = { ...turnPayload(turn), watch: turn.watch } satisfies DeliverPayload;
  return [{ id: `deliver:${turn.id}:${turn.watch}`, type: "deliver", known: "pending", payload }];
}

/** Says the outcome in the thread, once, as a reply (edits notify nobody); then the status message is brought up to date. */
export async function deliver(deps: TaskDeps, task: Task): Promise<Step> {
  const payload = readPayload(DeliverPayload, task);
  const { turnId, watch } = payload;
  const turn = requireTurn(await deps.records.turn.get(turnId), turnId);
  // Somebody keeps watching: that watch has an outcome of its own, and this one was said before the button was there.
  if (turn.stage.name !== "ended" || turn.watch !== watch) return { kind: "done" };
  const { outcome } = turn.stage;
  const attempt = await postForTurn(deps, { ...task, payload }, turn, outcomeSlot(watch), {
    kind: "outcome",
    turn,
    outcome,
    watch,
    muted: await mutedIn(deps, turn),
    away: awayOfPost(turn, outcomeSlot(watch)),
  });
  if (attempt.kind !== "posted") return attempt.step;
  deps.logger.info({ outcome: outcome.kind, away: turn.delivery.away }, "outcome delivered");
  return (read) => {
    const now = requireTurn(read("turn", turnId), turnId);
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
