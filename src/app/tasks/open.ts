import { settledAt, STATUS_SLOT } from "../rules/turn/delivery.ts";
import { statusKey } from "../rules/words/status-text.ts";
import type { Task } from "../../shared/queue/task-queue.ts";
import type { Step } from "../rules/records.ts";
import type { Turn } from "../rules/turn/turn.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import { messageTasks } from "../rules/decisions/new-tasks.ts";
import { TurnPayload, turnPayload } from "../rules/decisions/payload.ts";
import { postForTurn } from "./post-for-turn.ts";
import { sessionTasks } from "./session.ts";
import { changeTurn, readTurnTask } from "../rules/decisions/turn-writes.ts";

/**
 * Posts the status message: in the thread that the request came from, or as the root of its own. If
 * the turn has ended by then, its outcome follows.
 */
export async function open(deps: TaskDeps, given: Task): Promise<Step> {
  const { task, turn } = await readTurnTask(deps, TurnPayload, given);
  const shown = statusKey(turn);
  const message = { kind: "status", turn, movedBecause: turn.delivery.away } as const;
  const attempt = await postForTurn(deps, task, turn, STATUS_SLOT, message);
  deps.firstTries.note(turn.id, attempt.kind === "not-yet" && attempt.isFault === true);
  if (attempt.kind !== "posted") return attempt.step;
  deps.measure({ kind: "status-posted", afterMs: deps.clock.now() - turn.request.receivedAt });
  const withPost = (now: Turn): Turn => {
    const delivery = settledAt(attempt.change(now.delivery), STATUS_SLOT);
    // A post by an earlier attempt shows the state of that time.
    const seen = delivery.shown ?? (attempt.isFound ? "" : shown);
    return { ...now, delivery: { ...delivery, shown: seen } };
  };
  const session = await sessionTasks(deps, withPost(turn));
  return changeTurn(deps, turn.id, withPost, (opened) => {
    const { from, project } = opened.request;
    // For a request in a thread, the log already has the thread's name.
    const thread = task.payload.thread === null && { thread: turnPayload(opened).thread };
    deps.logger.info({ from, project: project.name, ...thread }, "turn opened");
    return { adds: [...messageTasks(opened), ...session] };
  });
}
