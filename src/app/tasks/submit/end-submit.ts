import { cancelTask, submitTask, watchTask } from "../../rules/decisions/new-tasks.ts";
import { changesOf, turnNow } from "../../rules/decisions/turn-writes.ts";
import type { TaskDeps } from "../../rules/ports/deps.ts";
import type { Plan, Step } from "../../rules/records.ts";
import { isFollowUp, turnPrLink, type Turn } from "../../rules/turn/turn.ts";
import type { TaskEnd } from "../../../shared/queue/task-queue.ts";

/**
 * Stores the turn's state after its create or message, and adds what follows from it. Unless `also`
 * says how the task ends, it is done.
 */
export function endSubmit(
  deps: TaskDeps,
  turnId: string,
  change: (turn: Turn) => Turn,
  also: Partial<Plan<TaskEnd>> = {},
): Step {
  return (read) => {
    const turn = turnNow(read, turnId);
    const changed = change(turn);
    const changes = changesOf(deps, read, [changed]);
    const [next = changed] = changes.next;
    const { stage } = next;
    const isLinked = turnPrLink(next) !== null;
    const lookAt = deps.clock.now() + deps.polling.minMs;
    return {
      writes: [...(also.writes ?? []), ...changes.writes],
      appends: also.appends ?? [],
      adds: [
        ...(also.adds ?? []),
        ...(isFollowUp(turn) && !isFollowUp(next) && stage.name === "accepted" ? [submitTask(next)] : []),
        ...(stage.name === "watching" || isLinked ? [watchTask(next, lookAt, isLinked)] : []),
        ...(stage.name === "watching" && next.stop !== undefined ? [cancelTask(next)] : []),
        ...changes.adds,
      ],
      value: also.value ?? { kind: "done" },
    };
  };
}
