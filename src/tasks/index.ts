import { ZodError, z } from "zod";
import { messageOf } from "../errors.ts";
import { MAX_UNFORESEEN_ATTEMPTS, retryDelayMs } from "../core/retry.ts";
import { Request } from "../core/request.ts";
import type { Task, TaskHandler, TaskResult } from "../core/task-queue.ts";
import { deliver } from "./deliver.ts";
import type { TaskDeps } from "./deps.ts";
import { forget, remove } from "./forget.ts";
import { open } from "./open.ts";
import { TurnPayload, Whose } from "./payload.ts";
import { whisper } from "./whisper.ts";
import { poll } from "./poll.ts";
import { refresh } from "./refresh.ts";
import { TurnLostError } from "./require-turn.ts";
import { resume } from "./resume.ts";
import { submit } from "./submit.ts";
import { tell, tellTask } from "./tell.ts";

/** Every type of task and what it does, in the order of the flow. */
const handlers: Record<string, (deps: TaskDeps, task: Task) => Promise<TaskResult>> = {
  open,
  submit,
  poll,
  deliver,
  refresh,
  resume,
  forget,
  remove,
  whisper,
  tell,
};

/** Runs any task: logs it, turns what it throws into a retry, and tells the person about what is given up. */
export function createTaskHandler(deps: TaskDeps): TaskHandler {
  return async (task) => {
    const logger = deps.logger.child({ task: task.id, attempt: task.attempt, ...turnFields(task.payload) });
    const result = await run({ ...deps, logger }, task);
    switch (result.kind) {
      case "dead":
        logger.error({ reason: result.reason }, "task given up");
        await tellSomeone({ ...deps, logger }, task);
        break;
      case "retry":
        logger.warn({ reason: result.reason, due_at: result.dueAt }, "task will be tried again");
        break;
      case "done":
      case "again":
        logger.debug({ result: result.kind }, "task ran");
        break;
    }
    return result;
  };
}

async function run(deps: TaskDeps, task: Task): Promise<TaskResult> {
  const handle = handlers[task.type];
  if (handle === undefined) return { kind: "dead", reason: `no such type of task: ${task.type}` };
  try {
    return await handle(deps, task);
  } catch (thrown) {
    const reason = messageOf(thrown);
    if (thrown instanceof ZodError || thrown instanceof TurnLostError) return { kind: "dead", reason };
    deps.logger.error({ err: thrown }, "task threw");
    if (task.attempt >= MAX_UNFORESEEN_ATTEMPTS) return { kind: "dead", reason };
    const delay = retryDelayMs({ attempt: task.attempt, retryAfterMs: 0, random: deps.random() });
    return { kind: "retry", dueAt: deps.clock.now() + delay, reason };
  }
}

const OfSomeone = z.object({ whose: Whose });

async function tellSomeone(deps: TaskDeps, task: Task): Promise<void> {
  const payload = OfSomeone.safeParse(task.payload);
  // A status message that stays behind, records not removed: nothing a person has to know.
  const quiet = ["tell", "whisper", "refresh", "forget", "remove"].includes(task.type);
  if (quiet || !payload.success) return;
  await deps.queue.add(tellTask(task, payload.data.whose));
}

const LogFields = TurnPayload.partial().extend({ request: Request.optional() });

function turnFields(payload: unknown): { turn?: string; thread?: string; job_id?: string } {
  const parsed = LogFields.safeParse(payload);
  if (!parsed.success) return {};
  const { turnId, thread, jobId, request } = parsed.data;
  const turn = turnId ?? request?.id;
  return {
    ...(turn === undefined ? {} : { turn }),
    ...(thread === undefined ? {} : { thread }),
    ...(typeof jobId === "string" ? { job_id: jobId } : {}),
  };
}
