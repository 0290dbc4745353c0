import { STATUS_SLOT } from "../core/delivery.ts";
import { statusKey } from "../core/status-text.ts";
import type { NewTask, Step, Task } from "../core/task-queue.ts";
import type { Turn } from "../core/turn.ts";
import type { TaskDeps } from "./deps.ts";
import { TurnPayload, readPayload, turnPayload } from "./payload.ts";
import { afterFault } from "./post.ts";
import { requireTurn, turnWrites } from "./turn-writes.ts";

/**
 * Slack takes 50 updates and more a minute, over a whole workspace (tier 3, docs.slack.dev/apis/web-api/rate-limits): 45 a minute, and
 * five at once after a pause.
 */
const UPDATE_RATE = { gapMs: 1334, burst: 5 };

/** One per status message: however much changes while it waits for its slot, it shows what is true when it runs. */
export function refreshTask(turn: Turn): NewTask {
  return { id: `refresh:${turn.id}`, type: "refresh", known: "latest", payload: turnPayload(turn) };
}

/** Brings the status message up to date with the turn. Idempotent, and nothing waits for it. */
export async function refresh(deps: TaskDeps, task: Task): Promise<Step> {
  const payload = readPayload(TurnPayload, task);
  const turn = requireTurn(await deps.records.turn.get(payload.turnId), payload.turnId);
  const { delivery, request } = turn;
  const { teamId } = request;
  const slot = delivery.slots[STATUS_SLOT];
  const key = statusKey(turn);
  if (slot === undefined || slot.ts === null || delivery.shown === key) return { kind: "done" };

  const gate = `update:${teamId}`;
  const now = deps.clock.now();
  const slotMs = await deps.slots.reserve(gate, UPDATE_RATE, payload.slotMs);
  if (slotMs > now) return { kind: "wait", dueAt: slotMs, payload: { ...payload, slotMs } };
  const away = slot.channelId === request.channelId ? null : delivery.away;
  const updated = await deps.notifier.update(
    { teamId, channelId: slot.channelId, threadTs: delivery.threadTs },
    slot.ts,
    { kind: "status", turn, away },
    { turnId: turn.id, post: STATUS_SLOT },
  );
  if (!updated.ok && updated.fault.kind !== "place") {
    const { retryAfterMs } = updated.fault;
    if (retryAfterMs !== undefined) await deps.slots.postpone(gate, now + retryAfterMs);
    return afterFault(deps, { ...task, payload }, updated.fault);
  }
  if (!updated.ok) {
    deps.logger.warn({ error: updated.fault.error }, "the status message can no longer be updated");
  }
  return (read) => {
    const current = requireTurn(read("turn", turn.id), turn.id);
    const shown: Turn = { ...current, delivery: { ...current.delivery, shown: key } };
    const isTrue = statusKey(shown) === key;
    const { slotMs: _, ...rest } = payload;
    return {
      writes: turnWrites(deps, read, shown),
      value: isTrue ? { kind: "done" } : { kind: "again", dueAt: deps.clock.now(), payload: rest },
    };
  };
}
