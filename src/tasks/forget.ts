import { laneOf } from "../core/request.ts";
import type { NewTask, Task, TaskResult } from "../core/task-queue.ts";
import type { Turn } from "../core/turn.ts";
import type { TaskDeps } from "./deps.ts";
import { TurnPayload, turnPayload } from "./payload.ts";
import { unlinkThread } from "./thread-link.ts";

export function forgetTask(turn: Turn, dueAt: number): NewTask {
  return {
    id: `forget:${turn.id}:${turn.watch}`,
    type: "forget",
    dueAt,
    payload: turnPayload(turn),
  };
}

/** Retention is over: has the turn's records removed, in the lane that owns them. */
export async function forget(deps: TaskDeps, task: Task): Promise<TaskResult> {
  const { turnId } = TurnPayload.parse(task.payload);
  const turn = await deps.records.turns.get(turnId);
  if (turn === undefined) return { kind: "done" };
  await deps.queue.add({
    id: `remove:${task.id}`,
    type: "remove",
    lane: laneOf(turn.request),
    payload: turnPayload(turn),
  });
  return { kind: "done" };
}

/** Removes an ended turn with its job, its posts and its entry in the thread. */
export async function remove(deps: TaskDeps, task: Task): Promise<TaskResult> {
  const { turnId } = TurnPayload.parse(task.payload);
  const { turns, posts, jobs } = deps.records;
  const turn = await turns.get(turnId);
  if (turn === undefined || turn.stage.name !== "ended") return { kind: "done" };
  // Someone kept watching since: the end of that watch has its own retention.
  if (deps.clock.now() < turn.stage.at + deps.retentionMs) return { kind: "done" };
  const kept = await posts.get(turnId);
  if (kept !== undefined) await unlinkThread(deps, turn, kept);
  if (turn.job !== null) await jobs.delete(turn.job.id);
  await posts.delete(turnId);
  await turns.delete(turnId);
  return { kind: "done" };
}
