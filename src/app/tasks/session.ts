import { threadId, type Step, type ThreadRecord } from "../rules/records.ts";
import { SessionPayload, sessionTask } from "../rules/decisions/new-tasks.ts";
import { readTask } from "../rules/decisions/payload.ts";
import { threadOf, threadWrite } from "../rules/decisions/turn-writes.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import { type SessionStatus, sessionStatusOf } from "../rules/thread/session.ts";
import { NEWEST_TURNS_MAX } from "../rules/thread/follow-up.ts";
import type { MessageRef } from "../rules/turn/request.ts";
import type { Turn } from "../rules/turn/turn.ts";
import type { NewTask, Task } from "../../shared/queue/task-queue.ts";
import { afterFault, untilReserved } from "./post.ts";

/**
 * Slack names no rate. This is tier 3, 50 or more a minute in a workspace:
 * docs.slack.dev/apis/web-api/rate-limits
 */
const SESSION_RATE = { gapMs: 1334, burst: 5 };
/**
 * Slack ends `processing` after an hour: NousResearch/hermes-agent#90978, and
 * `date_status_processing_expire` in its answers.
 */
const RENEW_MS = 25 * 60_000;
/** After so many faults in a row, over half an hour or more, the session stays as it is. */
const ATTEMPTS_MAX = 12;

/**
 * Gives a thread's session the status that its turns say, and keeps it while a turn runs. Safe to
 * repeat: it shows the state when it runs. Nothing happens where the app isn't declared as an
 * agent.
 */
export async function session(deps: TaskDeps, given: Task): Promise<Step> {
  const task = readTask(SessionPayload, given);
  const { teamId, channelId, ts } = task.payload;
  const thread = { teamId, channelId, ts };
  const { record, status } = await sessionOf(deps, thread);
  const known = record?.session;
  const isShown =
    known?.status === status &&
    Math.abs(deps.clock.now() - known.at) < RENEW_MS &&
    deps.workStatus.wayIn(thread) === "session";
  if (!isShown) {
    const gate = `session:${teamId}`;
    const end = await untilReserved(deps, task, gate, SESSION_RATE);
    if (end !== null) return end;
    const hadOne = known !== undefined || record?.stops !== undefined;
    const answer = await deps.workStatus.setSession(thread, status, hadOne);
    if (!answer.ok) {
      // The next poll may be minutes away.
      if (status === "processing" && deps.workStatus.wayIn(thread) === "indicator") {
        deps.workStatus.show(thread);
      }
      const { kind } = answer.fault;
      const isFinal = kind === "place" || kind === "credentials" || task.attempt >= ATTEMPTS_MAX;
      return isFinal ? { kind: "done" } : afterFault(deps, task, answer.fault, gate);
    }
  }
  const now = deps.clock.now();
  return (read) => {
    const current = read("thread", threadId(thread));
    // A press of Slack's own Stop since asks for the status once more.
    const isPressed = current?.stops?.at(-1) !== record?.stops?.at(-1);
    const isNoted = isShown || isPressed || current === undefined;
    return {
      writes: isNoted ? [] : [threadWrite(deps, { ...current, session: { status, at: now } })],
      value:
        status === "processing"
          ? { kind: "again", dueAt: now + RENEW_MS, payload: thread }
          : { kind: "done" },
    };
  };
}

/**
 * The task to add after a turn, or what is said about it, may have changed. There is none if the
 * thread's session shows it, or Slack has none for this app.
 */
export async function sessionTasks(
  deps: Pick<TaskDeps, "records" | "workStatus">,
  turn: Turn,
): Promise<NewTask[]> {
  const thread = threadOf(turn);
  if (thread === null) return [];
  const way = deps.workStatus.wayIn(thread);
  if (way === "indicator") return [];
  const { record, status } = await sessionOf(deps, thread);
  return way === "session" && record?.session?.status === status ? [] : [sessionTask(thread)];
}

/** A thread's record, and the status that its session should have. */
async function sessionOf(
  { records }: Pick<TaskDeps, "records">,
  thread: MessageRef,
): Promise<{ record: ThreadRecord | undefined; status: SessionStatus }> {
  const record = await records.get("thread", threadId(thread));
  const newest = (record?.turnIds ?? []).slice(-NEWEST_TURNS_MAX);
  const turns = await Promise.all(newest.map((id) => records.get("turn", id)));
  // Turns that moved to a direct message are no longer shown here.
  const here = turns.filter((turn) => turn?.delivery.threadTs === thread.ts);
  return { record, status: sessionStatusOf(here.filter((turn) => turn !== undefined)) };
}
