import { z } from "zod";
import type { OutcomeReason } from "../rules/turn/outcome.ts";
import { MAX_UNEXPECTED_FAILURES, isGivenUp, retryDelayMs } from "../rules/retry.ts";
import type { Task, TaskEnd } from "../../shared/queue/task-queue.ts";
import type { Step, TaskHandler } from "../rules/records.ts";
import { DocsAgentError, messageOf } from "../../shared/errors.ts";
import { endTurn } from "../rules/turn/turn.ts";
import { changesOf, RecordLostError } from "../rules/decisions/turn-writes.ts";
import { answer } from "./answer.ts";
import { ask, reply } from "./reply.ts";
import { cancel } from "./cancel.ts";
import { close } from "./close.ts";
import { deliver } from "./deliver.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import { diff } from "./diff.ts";
import { feed } from "./feed.ts";
import { home } from "./home.ts";
import { list } from "./list.ts";
import { news } from "./news.ts";
import { open } from "./open.ts";
import { PayloadInvalidError, TurnPayload, TaskOwner } from "../rules/decisions/payload.ts";
import { overdue, question } from "./question.ts";
import { react, thank } from "./react.ts";
import { preview } from "./preview.ts";
import { refresh } from "./refresh.ts";
import { session } from "./session.ts";
import { submit } from "./submit.ts";
import { tell, tellTask, unheard, welcome } from "./notices.ts";
import { watch } from "./watch.ts";

/**
 * Every type of task and what it does, in the order of the flow. Each pool has its own budget:
 * Slack messages never wait for the job service, messages never wait for updates or for news of
 * pull requests, and creates never wait for polls.
 */
const handlers: Record<string, Handler> = {
  submit: { pool: "creates", handle: submit, endsTurn: "create-lost" },
  message: { pool: "creates", handle: submit, endsTurn: "create-lost" },
  open: { pool: "messages", handle: open },
  feed: { pool: "feeds", handle: feed, isQuiet: true },
  watch: { pool: "polls", handle: watch, endsTurn: "unreadable" },
  cancel: { pool: "creates", handle: cancel, isQuiet: true },
  question: { pool: "messages", handle: question },
  answer: { pool: "creates", handle: answer },
  overdue: { pool: "messages", handle: overdue, isQuiet: true },
  deliver: { pool: "messages", handle: deliver },
  news: { pool: "news", handle: news, isQuiet: true },
  refresh: { pool: "updates", handle: refresh, isQuiet: true },
  preview: { pool: "updates", handle: preview, isQuiet: true },
  react: { pool: "reactions", handle: react, isQuiet: true },
  thank: { pool: "reactions", handle: thank, isQuiet: true },
  session: { pool: "reactions", handle: session, isQuiet: true },
  reply: { pool: "messages", handle: reply, isQuiet: true },
  list: { pool: "messages", handle: list, isQuiet: true },
  home: { pool: "updates", handle: home, isQuiet: true },
  diff: { pool: "others", handle: diff, isQuiet: true },
  close: { pool: "others", handle: close, isQuiet: true },
  ask: { pool: "messages", handle: ask, isQuiet: true },
  welcome: { pool: "messages", handle: welcome, isQuiet: true },
  tell: { pool: "messages", handle: tell, isQuiet: true },
  unheard: { pool: "messages", handle: unheard, isQuiet: true },
};

type Handler = {
  pool: keyof typeof POOLS;
  handle: (deps: TaskDeps, task: Task) => Promise<Step>;
  /**
   * Set if its turn, or all turns it watches, could never end without it: the reason for their
   * unknown outcome when the task is given up.
   */
  endsTurn?: OutcomeReason;
  /**
   * True if nobody has to know that it was given up. An out-of-date status message is an example.
   */
  isQuiet?: boolean;
};

/**
 * How many tasks of each pool run at once, counted separately for each job service. They mostly
 * wait for others.
 */
const POOLS = {
  creates: 32,
  messages: 64,
  polls: 64,
  feeds: 64,
  updates: 16,
  news: 8,
  reactions: 8,
  others: 4,
};

export const taskPools = {
  of: (type: string): string => handlers[type]?.pool ?? "others",
  budgets: POOLS,
  types: Object.keys(handlers),
};

/**
 * Runs any task: logs it, turns what it throws into a retry, and tells the person when it is given
 * up.
 */
export function createTaskHandler(deps: Omit<TaskDeps, "commit" | "assertHeld">): TaskHandler {
  return async (task, { commit, assertHeld }) => {
    const logger = deps.logger.child({ task: task.id, attempt: task.attempt, ...turnFields(task.payload) });
    const step = await run({ ...deps, logger, commit, assertHeld }, task);
    if (typeof step !== "function") return ended({ ...deps, logger }, task, step);
    return (read) => {
      const plan = step(read);
      const end = ended({ ...deps, logger }, task, plan.value);
      if (typeof end !== "function") return plan;
      const more = end(read);
      return {
        ...plan,
        writes: [...(plan.writes ?? []), ...(more.writes ?? [])],
        adds: [...(plan.adds ?? []), ...(more.adds ?? [])],
      };
    };
  };
}

/**
 * A newer version added the task. Repeating helps, because one of that version's replicas will get
 * it.
 */
class TaskUnknownError extends DocsAgentError {
  readonly code = "task_unknown";
}

async function run(deps: TaskDeps, task: Task): Promise<Step> {
  const { attempt, unexpectedFailures } = task;
  if (unexpectedFailures >= MAX_UNEXPECTED_FAILURES)
    return { kind: "dead", reason: "it failed for a reason nobody foresaw" };
  if (task.deaths >= MAX_UNEXPECTED_FAILURES) {
    return { kind: "dead", reason: `the process ended ${task.deaths} times in a row while this ran` };
  }
  try {
    const known = handlers[task.type];
    if (known === undefined) throw new TaskUnknownError(`no such type of task: ${task.type}`);
    return await known.handle(deps, task);
  } catch (thrown) {
    const reason = messageOf(thrown);
    if (thrown instanceof PayloadInvalidError || thrown instanceof RecordLostError) {
      return { kind: "dead", reason };
    }
    const now = deps.clock.now();
    const delayMs = retryDelayMs({
      // A newer replica may start at any moment.
      attempt: thrown instanceof TaskUnknownError ? Math.min(attempt, 5) : attempt + unexpectedFailures,
      retryAfterMs: 0,
      random: deps.random(),
    });
    const dueAt = now + delayMs;
    // Errors we throw on purpose are foreseen, such as a store that can't be written.
    if (thrown instanceof DocsAgentError) {
      return isGivenUp(task, now) ? { kind: "dead", reason } : { kind: "retry", dueAt, reason };
    }
    if (unexpectedFailures + 1 >= MAX_UNEXPECTED_FAILURES) {
      deps.logger.error({ err: thrown }, "task threw");
      return { kind: "dead", reason };
    }
    deps.logger.error({ err: thrown, due_at: dueAt }, "task threw; it will be tried again");
    return { kind: "retry", dueAt, reason, isUnexpected: true };
  }
}

/** Logs how a task ended, and adds the task that tells the person if it was given up. */
function ended(
  deps: Pick<TaskDeps, "clock" | "logger" | "measure" | "polling" | "retentionMs">,
  task: Task,
  end: TaskEnd,
): Step {
  const { logger } = deps;
  if (end.kind !== "dead") {
    if (end.kind !== "retry") logger.debug({ result: end.kind }, "task ran");
    else if (end.isUnexpected !== true) {
      logger.warn({ reason: end.reason, due_at: end.dueAt }, "task will be tried again");
    }
    return end;
  }
  logger.error({ reason: end.reason }, "task given up");
  const payload = OwnedPayload.safeParse(task.payload);
  const { endsTurn, isQuiet } = handlers[task.type] ?? {};
  if (isQuiet === true || !payload.success) return end;
  const { whose, turnId, jobKey, isFollowing } = payload.data;
  return (read) => {
    const ids = new Set([
      ...(turnId === undefined ? [] : [turnId]),
      ...(jobKey === undefined ? [] : (read("job", jobKey)?.openTurnIds ?? [])),
    ]);
    const open = [...ids]
      .flatMap((id) => read("turn", id) ?? [])
      .filter(({ id, stage }) => stage.name === "watching" || (id === turnId && stage.name !== "ended"));
    // Nobody waits for a watch that only followed a pull request.
    if (open.length === 0 && isFollowing === true) return { value: end };
    if (open.length === 0 || endsTurn === undefined) return { adds: [tellTask(task, whose)], value: end };
    // Every turn ends in an outcome, so its thread says what happened and what to do.
    const now = deps.clock.now();
    const lost = open.map((turn) => endTurn(turn, "unknown", now, { reason: endsTurn }));
    const { writes, adds } = changesOf(deps, read, lost);
    return { writes, adds, value: end };
  };
}

const OwnedPayload = z.object({
  whose: TaskOwner,
  turnId: z.string().optional(),
  /** The watched job's key. */
  jobKey: z.string().optional(),
  isFollowing: z.boolean().optional(),
});

const LogFields = TurnPayload.pick({ turnId: true, thread: true, jobId: true }).partial();

function turnFields(payload: unknown): { turn?: string; thread?: string; job_id?: string } {
  const { turnId, thread, jobId } = LogFields.safeParse(payload).data ?? {};
  return {
    ...(turnId === undefined ? {} : { turn: turnId }),
    ...(typeof thread === "string" ? { thread } : {}),
    ...(typeof jobId === "string" ? { job_id: jobId } : {}),
  };
}
