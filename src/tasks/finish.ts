import type { TaskResult } from "../core/task-queue.ts";
import type { Turn } from "../core/turn.ts";
import { deliverTask } from "./deliver.ts";
import type { TaskDeps } from "./deps.ts";
import { forgetTask } from "./forget.ts";

/** Saves that a turn has ended, then has its outcome delivered. Repeating it changes nothing. */
export async function finish(
  deps: Pick<TaskDeps, "records" | "queue" | "logger" | "retentionMs">,
  turn: Turn,
): Promise<TaskResult> {
  if (turn.stage.name !== "ended") throw new TypeError(`Turn ${turn.id} has not ended.`);
  const { outcome, at } = turn.stage;
  await deps.records.turns.set(turn.id, turn);
  deps.logger.info({ outcome: outcome.kind, reason: outcome.reason, took_ms: outcome.tookMs }, "turn ended");
  await deps.queue.add(deliverTask(turn, outcome));
  await deps.queue.add(forgetTask(turn, at + deps.retentionMs));
  return { kind: "done" };
}
