import { z } from "zod";
import { statusKey } from "../core/status-text.ts";
import type { NewTask, Task, TaskResult } from "../core/task-queue.ts";
import { FRESH_POLL_STATE, PollState, afterPoll, beforePoll, endTurn } from "../core/turn.ts";
import type { Turn } from "../core/turn.ts";
import type { TaskDeps } from "./deps.ts";
import { finish } from "./finish.ts";
import { TurnPayload, turnPayload } from "./payload.ts";
import { refreshTask } from "./refresh.ts";
import { requireTurn } from "./require-turn.ts";

const PollPayload = TurnPayload.extend({ watch: z.number().int(), state: PollState });
type PollPayload = z.infer<typeof PollPayload>;

export function pollTask(turn: Turn, dueAt: number): NewTask {
  return {
    id: `poll:${turn.id}:${turn.watch}`,
    type: "poll",
    dueAt,
    payload: {
      ...turnPayload(turn),
      watch: turn.watch,
      state: FRESH_POLL_STATE,
    } satisfies PollPayload,
  };
}

/** Asks the job service once how the job stands, then comes again or ends the turn. Safe to repeat. */
export async function poll(deps: TaskDeps, task: Task): Promise<TaskResult> {
  const payload = PollPayload.parse(task.payload);
  const turn = await requireTurn(deps, payload.turnId);
  if (turn.watch !== payload.watch) return { kind: "done" };
  if (turn.stage.name === "ended") return finish(deps, turn);
  if (turn.job === null) throw new TypeError(`Turn ${turn.id} is watched without a job.`);

  const ready = beforePoll(turn, deps.clock.now(), deps.polling);
  if (ready !== "poll") return finish(deps, ready);

  const jobService = deps.jobServices.get(turn.request.project);
  if (jobService === undefined) {
    deps.logger.error({ project: turn.request.project }, "the project of this job is no longer configured");
    return finish(deps, endTurn(turn, "rejected", deps.clock.now(), { reason: "project" }));
  }
  const answer = await jobService.getJob(turn.job.id);
  if (!answer.ok) deps.logger.warn({ fault: answer.fault }, "poll did not succeed");

  const now = deps.clock.now();
  const next = afterPoll(turn, payload.state, answer, {
    now,
    random: deps.random(),
    policy: deps.polling,
  });
  if (next.kind === "ended") return finish(deps, next.turn);
  if (next.turn !== turn) {
    await deps.records.turns.set(turn.id, next.turn);
    if (statusKey(next.turn) !== statusKey(turn)) await deps.queue.add(refreshTask(next.turn, now));
  }
  return {
    kind: "again",
    dueAt: next.dueAt,
    payload: { ...payload, state: next.state } satisfies PollPayload,
  };
}
