import type { Job } from "../core/job.ts";
import { jobKey } from "../core/project.ts";
import { threadId } from "../core/records.ts";
import type { Read } from "../core/records.ts";
import type { ThreadContext, ThreadMessage } from "../core/request.ts";
import type { TaskEnd } from "../core/task-queue.ts";
import { compareTs, needsThread, seenUpTo, withheldAmong, without } from "../core/thread-context.ts";
import type { Turn } from "../core/turn.ts";
import type { TaskDeps } from "./deps.ts";
import type { TurnPayload } from "./payload.ts";

/** A request waits so long for a thread at most: where Slack says when to come again, some apps get one call a minute; and where it doesn't. */
const PATIENCE_MS = { told: 195_000, untold: 10_000 };
const AGAIN_AFTER_MS = 4_000;
/** How many of the thread's newest turns are asked what has been seen. */
const TURNS = 20;

/**
 * What of its thread goes along with a turn that is about to be sent: what was said since `job`, if it is a
 * follow-up, was last told, without the messages in `withheld`. `wait`: Slack is asked again soon.
 * Undefined: nothing has to be read.
 */
export async function threadOfRequest(
  deps: Pick<TaskDeps, "records" | "threadReader" | "directory" | "clock" | "logger">,
  turn: Turn,
  { job, withheld }: { job: Job | null; withheld: readonly string[] },
  payload: TurnPayload,
): Promise<ThreadContext | { wait: TaskEnd } | undefined> {
  const { request } = turn;
  const { teamId, channelId, threadTs, messageTs, receivedAt } = request;
  if (threadTs === null) return undefined;
  const thread = { teamId, channelId, ts: threadTs };
  if (request.retries !== undefined && request.context !== undefined) {
    // Somebody may have withheld a message since it was tried first.
    return without(request.context, withheldAmong(withheld));
  }
  if (!needsThread(request) || messageTs === undefined) return undefined;
  const others = await turnsOfThread(deps, thread, turn.id);
  const seen = job === null ? null : newestSeen(others, turn, job);
  const read = await deps.threadReader.read(
    { teamId, channelId, threadTs },
    { after: seen, before: messageTs, look: payload.threadLook },
  );
  const stopped = read.ok ? read.value.stopped : read.fault;
  const againMs = stopped === null ? null : againAfterMs(stopped, read.ok, deps.clock.now() - receivedAt);
  if (againMs !== null) {
    const next = read.ok && read.value.stopped !== null ? { threadLook: read.value.stopped.look } : {};
    const waiting = { ...payload, ...next };
    return { wait: { kind: "wait", dueAt: deps.clock.now() + againMs, payload: waiting } };
  }
  if (!read.ok) {
    deps.logger.warn({ error: read.fault.error }, "could not read a thread; the request goes without it");
    return { messages: [], leftOut: 0 };
  }
  const context: ThreadContext = {
    messages: read.value.messages,
    leftOut: read.value.leftOut,
    ...(read.value.hasEarlier ? { hasEarlier: true } : {}),
    upTo: messageTs,
    ...(withheld.length === 0 ? {} : { withheld: [...withheld] }),
    ...(stopped === null ? {} : { isCutShort: true }),
  };
  // Whoever works on a job knows how its turns ended.
  const isKnown = (message: object) => job !== null && "isOwn" in message && message.isOwn === true;
  const isWithheld = withheldAmong(withheld);
  const shared = without(context, (message) => isWithheld(message) || isKnown(message));
  return withoutGuests(deps, teamId, shared);
}

/** Nothing leaves Slack of somebody who may not use the app, also if they can't be told from such people now. */
export async function withoutGuests(
  { directory }: { directory: Pick<TaskDeps["directory"], "admission"> },
  teamId: string,
  context: ThreadContext,
): Promise<ThreadContext> {
  const isRefused = await refusedOf(directory, teamId, context.messages);
  const shared = without(context, isRefused);
  const ofGuests = countOf(context.messages) - countOf(shared.messages);
  return ofGuests === 0 ? shared : { ...shared, ofGuests };
}

/** Tells which of some messages, and of those that they show, are of somebody who may not use the app. */
export async function refusedOf(
  directory: Pick<TaskDeps["directory"], "admission">,
  teamId: string,
  messages: readonly Pick<ThreadMessage, "authorId" | "shows">[],
): Promise<(message: Pick<ThreadMessage, "authorId">) => boolean> {
  const all = messages.flatMap((message) => [message, ...(message.shows ?? [])]);
  const authors = new Set(all.flatMap(({ authorId }) => authorId ?? []));
  const admissions = await Promise.all(
    [...authors].map(async (id) => [id, await directory.admission(teamId, id)] as const),
  );
  const refused = new Set(admissions.flatMap(([id, admission]) => (admission === "admitted" ? [] : [id])));
  return ({ authorId }) => authorId !== null && refused.has(authorId);
}

function countOf(messages: readonly ThreadMessage[]): number {
  return messages.reduce((sum, { shows = [] }) => sum + 1 + shows.length, 0);
}

/** For how long to wait for Slack; null: not any more, or waiting changes nothing. */
function againAfterMs(
  { kind, retryAfterMs }: { kind?: string; retryAfterMs?: number | undefined },
  isPart: boolean,
  ageMs: number,
): number | null {
  if (kind === "place" || kind === "credentials") return null;
  // What stopped for another reason stops there again.
  if (isPart && retryAfterMs === undefined) return null;
  const delayMs = retryAfterMs ?? AGAIN_AFTER_MS;
  const patienceMs = retryAfterMs === undefined ? PATIENCE_MS.untold : PATIENCE_MS.told;
  return ageMs + delayMs <= patienceMs ? delayMs : null;
}

/** The newest message that the job was told, as far as its turns say. */
function newestSeen(others: readonly Turn[], turn: Turn, job: Job): string | null {
  const key = jobKey(turn.request.project, job.id);
  const seen = others
    .filter((other) => other.job !== null && jobKey(other.request.project, other.job.id) === key)
    .flatMap((other) => seenUpTo(other.request) ?? []);
  return seen.toSorted(compareTs).at(-1) ?? null;
}

type ThreadTurns = {
  records: { [Kind in "thread" | "turn"]: Pick<TaskDeps["records"][Kind], "get"> };
};
type Thread = { teamId: string; channelId: string; ts: string };

type Place = Pick<Turn["request"], "teamId" | "channelId" | "threadTs">;

/** The messages of a thread that people chose not to share, by their `ts`. The list only grows. */
export async function withheldIn(
  { records }: { records: { withheld: Pick<TaskDeps["records"]["withheld"], "get"> } },
  { teamId, channelId, threadTs }: Place,
): Promise<string[]> {
  if (threadTs === null) return [];
  return (await records.withheld.get(threadId({ teamId, channelId, ts: threadTs })))?.messages ?? [];
}

/** {@link withheldIn}, in a decision. */
export function withheldNow(read: Read, { teamId, channelId, threadTs }: Place): readonly string[] {
  if (threadTs === null) return [];
  return read("withheld", threadId({ teamId, channelId, ts: threadTs }))?.messages ?? [];
}

async function turnsOfThread({ records }: ThreadTurns, thread: Thread, exceptId?: string): Promise<Turn[]> {
  const found = await records.thread.get(threadId(thread));
  const ids = (found?.turnIds ?? []).filter((id) => id !== exceptId).slice(-TURNS);
  const turns = await Promise.all(ids.map((other) => records.turn.get(other)));
  return turns.filter((other) => other !== undefined);
}
