import { laneOf } from "../core/request.ts";
import type { NotifierFault } from "../core/notifier.ts";
import { STATUS_SLOT } from "../core/records.ts";
import type { Posts } from "../core/records.ts";
import { statusKey } from "../core/status-text.ts";
import type { NewTask, Task, TaskResult } from "../core/task-queue.ts";
import type { Turn } from "../core/turn.ts";
import { LANE_GAP_MS, deliveryResult } from "./delivery-result.ts";
import type { TaskDeps } from "./deps.ts";
import { TurnPayload, turnPayload } from "./payload.ts";
import { requireTurn } from "./require-turn.ts";
import { linkThread } from "./thread-link.ts";

export function refreshTask(turn: Turn, now: number): NewTask {
  return {
    // It shows whatever is true when it runs, so one too many does no harm.
    id: `refresh:${turn.id}:${statusKey(turn)}:${now}`,
    type: "refresh",
    lane: laneOf(turn.request),
    payload: turnPayload(turn),
  };
}

/** Brings the status message up to date with the turn. Idempotent. */
export async function refresh(deps: TaskDeps, task: Task): Promise<TaskResult> {
  const { turnId } = TurnPayload.parse(task.payload);
  const turn = await requireTurn(deps, turnId);
  const posts = await deps.records.posts.get(turnId);
  // The outcome's own delivery refreshes the status message after it has said the outcome.
  if (posts === undefined || turn.stage.name === "ended") return { kind: "done" };
  await linkThread(deps, turn, posts);
  const refreshed = await refreshStatus(deps, turn, posts);
  if (refreshed.kind === "fault") return deliveryResult(deps, task, refreshed.fault);
  return refreshed.kind === "updated" ? { kind: "done", laneGapMs: LANE_GAP_MS } : { kind: "done" };
}

export type Refreshed = { kind: "updated" } | { kind: "unchanged" } | { kind: "fault"; fault: NotifierFault };

/** Updates the status message if it does not show the turn's state yet. */
export async function refreshStatus(
  deps: Pick<TaskDeps, "records" | "notifier" | "logger">,
  turn: Turn,
  posts: Posts,
): Promise<Refreshed> {
  const key = statusKey(turn);
  const slot = posts.slots[STATUS_SLOT];
  if (slot === undefined || slot.ts === null || posts.shown === key) return { kind: "unchanged" };
  const away = slot.channelId === turn.request.channelId ? null : posts.away;
  const updated = await deps.notifier.update(
    { teamId: turn.request.teamId, channelId: slot.channelId, threadTs: null },
    slot.ts,
    { kind: "status", request: turn.request, turn, away },
    { turnId: turn.id, post: STATUS_SLOT },
  );
  if (!updated.ok && updated.fault.kind !== "place") return { kind: "fault", fault: updated.fault };
  if (!updated.ok) deps.logger.warn({ fault: updated.fault }, "the status message can no longer be updated");
  await deps.records.posts.set(turn.id, { ...posts, shown: key });
  return { kind: "updated" };
}
