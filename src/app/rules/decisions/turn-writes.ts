import { pullRequestAfter, shownWith, withPrBefore } from "../thread/follow-up.ts";
import { jobKey } from "../project.ts";
import {
  type Decision,
  type Plan,
  THREAD_TURNS_MAX,
  keyOfWrite,
  readAfter,
  threadId,
  threadIdOf,
} from "../records.ts";
import type { JobRecord, Read, ThreadRecord, Write } from "../records.ts";
import type { MessageRef, Request } from "../turn/request.ts";
import { endingOf, prLinkOf } from "../turn/outcome.ts";
import { keepTurnMs, type Turn, isUnsent } from "../turn/turn.ts";
import { passedOver } from "../turn/turn-pull-request.ts";
import { DocsAgentError } from "../../../shared/errors.ts";
import type { z } from "zod";
import type { NewTask, Task, TaskEnd } from "../../../shared/queue/task-queue.ts";
import { readTask, type TaskWith } from "./payload.ts";
import type { TaskDeps } from "../ports/deps.ts";
import { hasStatusMessage } from "../turn/delivery.ts";
import { messageTasks, openTask, reactTasks, refreshTasks, submitTask } from "./new-tasks.ts";

/** Thrown when a task's record is gone or can't be parsed. Repeating doesn't help. */
export class RecordLostError extends DocsAgentError {
  readonly code = "record_lost";
}

/** Reads a task's payload and the turn it works on. Throws if either can't be read. */
export async function readTurnTask<T extends { turnId: string }>(
  { records }: Pick<TaskDeps, "records">,
  schema: z.ZodType<T>,
  given: Task,
): Promise<{ task: TaskWith<T>; turn: Turn }> {
  const task = readTask(schema, given);
  const { turnId } = task.payload;
  return { task, turn: requireTurn(await records.get("turn", turnId), turnId) };
}

/** The turn's current state during a decision. Throws a {@link RecordLostError}. */
export function turnNow(read: Read, turnId: string): Turn {
  return requireTurn(read("turn", turnId), turnId);
}

function requireTurn(turn: Turn | undefined, turnId: string): Turn {
  if (turn !== undefined) return turn;
  throw new RecordLostError(`There is no readable record of turn ${turnId}.`);
}

type Deps = Pick<TaskDeps, "clock" | "polling" | "retentionMs">;

/**
 * Ends a run of a task with a change to its turn's current state. `also` says what else follows
 * from the turn after the change. Unless it says how the task ends, the task is done.
 */
export function changeTurn(
  deps: Deps,
  turnId: string,
  change: (turn: Turn) => Turn,
  also: (next: Turn) => Partial<Plan<TaskEnd>> = () => ({}),
): Decision<TaskEnd> {
  return (read) => {
    const turn = turnNow(read, turnId);
    const next = change(turn);
    const writes = next === turn ? [] : turnWrites(deps, read, next);
    return { writes, value: { kind: "done" }, ...also(next) };
  };
}

/** What to write when turns have changed. Each turn's writes build on those before it. */
export function turnWrites(deps: Deps, read: Read, ...turns: readonly Turn[]): Write[] {
  const writes = new Map<string, Write>();
  const readNow = readAfter(read, writes);
  for (const turn of turns)
    for (const write of writesOf(deps, readNow, turn)) writes.set(keyOfWrite(write), write);
  return [...writes.values()];
}

/** Writes the turn and, if it is new or has entered another stage, its job and thread. */
function writesOf(deps: Deps, read: Read, turn: Turn): Write[] {
  const before = read("turn", turn.id);
  const ttlMs = keptMs(deps, read, turn);
  const key = turn.job === null ? null : jobKey(turn.request.project, turn.job.id);
  const isOtherStage = before?.stage.name !== turn.stage.name;
  const hasNewJob = before?.job?.id !== turn.job?.id;
  const thread = threadOf(turn);
  const isNewInThread = before === undefined || threadOf(before)?.ts !== thread?.ts;
  const isOtherPullRequest = before?.pullRequest?.changedAt !== turn.pullRequest?.changedAt;
  const isNews = isOtherStage || isOtherPullRequest;
  const writes: Write[] = [
    { kind: "turn", id: turn.id, record: turn, ttlMs },
    ...withheldWrites(read, turn.request),
  ];
  const now = deps.clock.now();
  const longestMs = Math.max(deps.polling.deadlineMs + deps.retentionMs, ttlMs);
  // When it ends or is watched again, or its pull request changes, everything is kept for a
  // different time.
  if (thread !== null && (isNewInThread || (key !== null && isNews))) {
    const known = threadWith(read, thread, turn, isNewInThread);
    const keepUntil = Math.max(known.keepUntil ?? 0, isOtherPullRequest ? now + ttlMs : 0);
    const record = keepUntil === 0 ? known : { ...known, keepUntil };
    writes.push({
      kind: "thread",
      id: threadId(thread),
      record,
      ttlMs: Math.max(longestMs, keepUntil - now),
    });
  }
  if (key !== null && turn.job !== null && (isNewInThread || isNews || hasNewJob)) {
    const known = read("job", key);
    const pullRequest = pullRequestAfter(known?.pullRequest, turn);
    const record: JobRecord = {
      ...known,
      version: 2,
      id: turn.job.id,
      project: turn.request.project,
      thread: thread ?? known?.thread ?? null,
      openTurnIds: openWith(read, known?.openTurnIds ?? [], turn, before),
      ...(hasNewJob && { newestTurnId: turn.id }),
      ...(pullRequest === undefined ? {} : { pullRequest }),
      createdAt: known?.createdAt ?? now,
    };
    // The job is kept as long as the turn that is kept longest.
    const leftId = pullRequest?.turnId ?? turn.id;
    const left = leftId === turn.id ? turn : read("turn", leftId);
    const leftMs = left === undefined ? 0 : keptMs(deps, read, left);
    const isOpen = record.openTurnIds.length > 0;
    writes.push({ kind: "job", id: key, record, ttlMs: Math.max(isOpen ? longestMs : ttlMs, leftMs) });
  }
  return writes;
}

/** Turns that one status message shows are kept for the same time. */
function keptMs({ clock, polling, retentionMs }: Deps, read: Read, turn: Turn): number {
  return Math.max(
    ...[turn, ...shownWith(read, turn)].map((each) => keepTurnMs(each, clock.now(), polling, retentionMs)),
  );
}

/**
 * Written with the turn, but kept longer than the turn and the thread's record: Slack keeps the
 * messages, and they may be read again.
 */
function withheldWrites(read: Read, request: Request): Write[] {
  const withheld = request.context?.withheld ?? [];
  const id = threadIdOf(request);
  if (id === null || withheld.length === 0) return [];
  const known = read("withheld", id)?.messages ?? [];
  const messages = [...new Set([...known, ...withheld])];
  if (messages.length === known.length) return [];
  return [{ kind: "withheld", id, record: { version: 1, messages } }];
}

/** The thread a turn reports to, or null if it isn't there yet. */
export function threadOf({ request, delivery }: Turn): MessageRef | null {
  const { channelId, threadTs } = delivery;
  return threadTs === null ? null : { teamId: request.teamId, channelId, ts: threadTs };
}

/** Writes a thread's record as it is given, and keeps it as long as its turns may need it. */
export function threadWrite({ clock, polling, retentionMs }: Deps, record: ThreadRecord): Write {
  const leftMs = (record.keepUntil ?? 0) - clock.now();
  const ttlMs = Math.max(polling.deadlineMs + retentionMs, leftMs);
  return { kind: "thread", id: threadId(record), record, ttlMs };
}

/**
 * `isNew` is true if the turn has just come into the thread. Turns keep their order of arrival and
 * are listed once.
 */
function threadWith(read: Read, thread: MessageRef, turn: Turn, isNew: boolean): ThreadRecord {
  const known = read("thread", threadId(thread));
  const turnIds = known?.turnIds ?? [];
  const isMissing = (isNew || known === undefined) && !turnIds.includes(turn.id);
  return {
    ...known,
    version: 2,
    ...thread,
    turnIds: isMissing ? [...turnIds, turn.id].slice(-THREAD_TURNS_MAX) : turnIds,
  };
}

/**
 * The open turns of a job after one of them has changed. A turn that is watched again comes before
 * those that were requested later.
 */
function openWith(read: Read, openIds: readonly string[], turn: Turn, before: Turn | undefined): string[] {
  if (turn.stage.name === "ended") return openIds.filter((id) => id !== turn.id);
  if (openIds.includes(turn.id)) return [...openIds];
  const isAgain = before?.stage.name === "ended";
  const later = isAgain
    ? openIds.findIndex((id) => (read("turn", id)?.request.receivedAt ?? 0) > turn.request.receivedAt)
    : -1;
  return openIds.toSpliced(later === -1 ? openIds.length : later, 0, turn.id);
}

type Changes = { next: Turn[]; writes: Write[]; adds: NewTask[] };

/**
 * What to write and add when turns have changed or ended. `next` are the turns as written. A
 * follow-up that waits for one of them is sent once that one has been sent or has ended.
 */
export function changesOf(
  deps: Pick<TaskDeps, "clock" | "polling" | "retentionMs" | "logger" | "measure">,
  read: Read,
  changed: readonly Turn[],
): Changes {
  const written = new Map<string, Write>();
  const readNow = readAfter(read, written);
  const changes: Changes = { next: [], writes: [], adds: [] };
  for (const turn of changed) {
    const before = readNow("turn", turn.id);
    const isEnding = turn.stage.name === "ended" && before?.stage.name !== "ended";
    const job = turn.job === null ? undefined : readNow("job", jobKey(turn.request.project, turn.job.id));
    const next = isEnding ? withPrBefore(turn, job?.pullRequest) : turn;
    if (isEnding && next.stage.name === "ended") {
      const { kind: outcome, reason, tookMs, told: report, stoppedBy } = next.stage.outcome;
      const stopped = stoppedBy === undefined ? undefined : true;
      deps.logger.info({ outcome, told: report?.outcome, stopped, reason, took_ms: tookMs }, "turn ended");
      const ending = endingOf(next.stage.outcome);
      deps.measure({ kind: "turn-ended", id: `${next.id} ${next.watch}`, ending });
    }
    const earlier = isEnding ? passedOverBy(readNow, next, job?.pullRequest) : [];
    for (const write of turnWrites(deps, readNow, next, ...earlier)) written.set(keyOfWrite(write), write);
    changes.next.push(next);
    changes.adds.push(...tasksAfterChange(next), ...tasksInLine(readNow, before, next));
    changes.adds.push(...earlier.flatMap(refreshTasks));
  }
  return { ...changes, writes: [...written.values()] };
}

/** The turn whose open pull request is no longer followed, because this turn left another one. */
function passedOverBy(read: Read, { id, stage }: Turn, left: JobRecord["pullRequest"]): Turn[] {
  if (left === undefined || left.turnId === id || stage.name !== "ended") return [];
  const link = prLinkOf(stage.outcome);
  const earlier = read("turn", left.turnId);
  if (link === null || link === left.url || earlier?.pullRequest?.latest.state !== "open") return [];
  return [{ ...earlier, pullRequest: passedOver(earlier.pullRequest) }];
}

/** The task for the follow-up that waited for this turn, once it needn't wait anymore. */
function tasksInLine(read: Read, before: Turn | undefined, { nextId, ...turn }: Turn): NewTask[] {
  if (nextId === undefined || before === undefined || !isUnsent(before) || isUnsent(turn)) return [];
  const waiting = read("turn", nextId);
  return waiting !== undefined && isUnsent(waiting) ? [submitTask(waiting)] : [];
}

/**
 * The tasks to add when a turn has changed: updates of its messages while it goes on, and its
 * outcome and reaction once it has ended. If the status message isn't posted yet, its task brings
 * the outcome along; it is added again in case it was given up before there was an outcome.
 */
function tasksAfterChange(turn: Turn): NewTask[] {
  if (turn.stage.name !== "ended") return messageTasks(turn);
  const messages = hasStatusMessage(turn.delivery) ? messageTasks(turn) : [openTask(turn)];
  return [...messages, ...reactTasks(turn)];
}
