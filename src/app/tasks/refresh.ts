import { STATUS_SLOT } from "../rules/turn/delivery.ts";
import { isOnlyStepNew, isStatusReplaced, statusKey } from "../rules/words/status-text.ts";
import type { Task } from "../../shared/queue/task-queue.ts";
import type { Step } from "../rules/records.ts";
import type { Turn } from "../rules/turn/turn.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import { type TaskWith, TurnPayload } from "../rules/decisions/payload.ts";
import { changeTurn, readTurnTask, turnWrites } from "../rules/decisions/turn-writes.ts";
import { removePost, UPDATE_RATE, updateGate, updatePost } from "./post.ts";
import { sessionTasks } from "./session.ts";

/**
 * Updates the status message with its turn and the others that it shows, or deletes it if the
 * outcome says all that it said. Idempotent, and nothing waits for it. If only steps are new, it
 * waits until no other update wants to go out in the workspace. It runs after each change of a
 * turn, so the thread's session changes with it.
 */
export async function refresh(deps: TaskDeps, given: Task): Promise<Step> {
  const { task, turn } = await readTurnTask(deps, TurnPayload, given);
  const step = await showStatus(deps, task, turn);
  const more = await sessionTasks(deps, turn);
  if (more.length === 0) return step;
  return (read) => {
    const plan = typeof step === "function" ? step(read) : { value: step };
    return { ...plan, adds: [...(plan.adds ?? []), ...more] };
  };
}

async function showStatus(deps: TaskDeps, task: TaskWith<TurnPayload>, turn: Turn): Promise<Step> {
  const { delivery, request } = turn;
  const { teamId } = request;
  const slot = delivery.slots[STATUS_SLOT];
  const others = await Promise.all((delivery.alsoShows ?? []).map((id) => deps.records.get("turn", id)));
  const followUps = others.filter((other) => other !== undefined);
  const shown = [turn, ...followUps];
  const isShown = (other: Turn) => other.delivery.shown === statusKey(other);
  if (slot === undefined || slot.ts === null || delivery.isStatusGone === true) return { kind: "done" };
  const { channelId, ts } = slot;
  if (isStatusReplaced(turn)) return removeStatus(deps, task, turn, { channelId, ts });
  if (shown.every(isShown)) return { kind: "done" };

  const isStep = shown.every((other) => isShown(other) || isOnlyStepNew(other));
  let reserved = task;
  if (isStep && task.payload.slotMs === undefined) {
    const taken = await deps.rateLimiter.takeIfIdle(updateGate(teamId), UPDATE_RATE);
    if (taken === null) {
      return { kind: "wait", dueAt: deps.clock.now() + UPDATE_RATE.gapMs * (1 + 3 * deps.random()) };
    }
    reserved = { ...task, payload: { ...task.payload, slotMs: taken.reservedMs } };
  }
  const movedBecause = slot.channelId === request.channelId ? null : delivery.away;
  const updated = await updatePost(deps, reserved, {
    place: { teamId, channelId: slot.channelId, threadTs: delivery.threadTs },
    ts: slot.ts,
    message: { kind: "status", turn, followUps, movedBecause },
    label: { turnId: turn.id, post: STATUS_SLOT },
  });
  if (updated.kind === "later") return updated.end;
  const refused = updated.refused === null ? {} : { refusedUpdate: updated.refused };
  return (read) => {
    const noted = shown.flatMap((other): Turn[] => {
      const current = read("turn", other.id);
      if (current === undefined) return [];
      const { refusedUpdate: _, ...rest } = current.delivery;
      return [{ ...current, delivery: { ...rest, shown: statusKey(other), ...refused } }];
    });
    const { slotMs: _, ...payload } = task.payload;
    return {
      writes: turnWrites(deps, read, ...noted),
      value: noted.every(isShown) ? { kind: "done" } : { kind: "again", dueAt: deps.clock.now(), payload },
    };
  };
}

/**
 * Deletes the status message of a follow-up after its outcome was posted, so that one post stays.
 * If Slack refuses that, it stays as it is.
 */
async function removeStatus(
  deps: TaskDeps,
  task: TaskWith<TurnPayload>,
  turn: Turn,
  { channelId, ts }: { channelId: string; ts: string },
): Promise<Step> {
  const removed = await removePost(deps, task, {
    place: { teamId: turn.request.teamId, channelId, threadTs: turn.delivery.threadTs },
    ts,
    label: { turnId: turn.id, post: STATUS_SLOT },
  });
  if (removed.kind === "later") return removed.end;
  return changeTurn(deps, turn.id, (now) => ({
    ...now,
    delivery: { ...now.delivery, isStatusGone: true, shown: statusKey(now) },
  }));
}
