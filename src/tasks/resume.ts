import { z } from "zod";
import type { NewTask, Task, TaskResult } from "../core/task-queue.ts";
import { resumeTurn } from "../core/turn.ts";
import type { Turn } from "../core/turn.ts";
import type { TaskDeps } from "./deps.ts";
import { TurnPayload, turnPayload } from "./payload.ts";
import { pollTask } from "./poll.ts";
import { refreshTask } from "./refresh.ts";
import { requireTurn } from "./require-turn.ts";

const ResumePayload = TurnPayload.extend({ watch: z.number().int() });

/** `watch`: the one that ended. A second press of the same button has the same id. */
export function resumeTask(turn: Turn, watch: number): NewTask {
  return {
    id: `resume:${turn.id}:${watch + 1}`,
    type: "resume",
    payload: { ...turnPayload(turn), watch: watch + 1 },
  };
}

/** Watches a job again whose watch ended without its end being known. */
export async function resume(deps: TaskDeps, task: Task): Promise<TaskResult> {
  const { turnId, watch } = ResumePayload.parse(task.payload);
  const turn = await requireTurn(deps, turnId);
  const now = deps.clock.now();
  const resumed = turn.watch === watch ? turn : resumeTurn(turn, watch, now);
  if (resumed === null) return { kind: "done" };
  await deps.records.turns.set(turnId, resumed);
  await deps.queue.add(pollTask(resumed, now));
  await deps.queue.add(refreshTask(resumed, now));
  return { kind: "done" };
}
