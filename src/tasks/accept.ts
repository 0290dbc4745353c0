import type { Request } from "../core/request.ts";
import type { Limit, NewTask, Plan } from "../core/task-queue.ts";
import type { Read } from "../core/records.ts";
import { jobInThread } from "../core/follow-up.ts";
import { projectKey } from "../core/project.ts";
import type { ProjectRef } from "../core/project.ts";
import { newTurn } from "../core/turn.ts";
import type { Turn } from "../core/turn.ts";
import { openTask } from "./open.ts";
import { submitTask } from "./submit.ts";
import { turnWrites } from "./turn-writes.ts";
import type { TaskDeps } from "./deps.ts";

/** Which job a request is for: one of its own, or that of its thread, in whatever project or only in that of the request. */
export type Aim = "own-job" | "thread" | "thread-in-project";

type AcceptDeps = Pick<TaskDeps, "clock" | "polling" | "retentionMs"> & {
  /** Those that are configured. */
  projects: readonly ProjectRef[];
};

/**
 * Accepts a request: its turn is written down, and the create and the status message are under way, neither waiting for the other. The
 * turn's id is made of what Slack sent, so a redelivery or a second press finds it, changes nothing and counts against no limit. `value`: whether
 * it is new.
 */
export function acceptance(
  deps: AcceptDeps,
  read: Read,
  request: Request,
  aim: Aim,
  within: readonly Limit[],
): Plan<boolean> {
  if (read("turn", request.id) !== undefined) return { value: false };
  const turn = aimed(deps, read, request, aim);
  return { writes: turnWrites(deps, read, turn), adds: acceptedTasks(turn), within, value: true };
}

function aimed({ projects }: AcceptDeps, read: Read, request: Request, aim: Aim): Turn {
  if (aim === "own-job") return newTurn(request);
  const found = jobInThread(read, request, projects);
  switch (found.kind) {
    case "none":
      return newTurn(request);
    case "closed":
      if (aim === "thread-in-project") return newTurn(request);
      return {
        ...newTurn({ ...request, project: found.project ?? request.project }),
        isStartedAnew: true,
      };
    case "open": {
      const {
        id,
        request: { project },
      } = found.turn;
      const isOther = projectKey(project) !== projectKey(request.project);
      if (aim === "thread-in-project" && isOther) return newTurn(request);
      return newTurn({ ...request, project, follows: { turnId: id } });
    }
  }
}

function acceptedTasks(turn: Turn): NewTask[] {
  return [submitTask(turn), openTask(turn)];
}
