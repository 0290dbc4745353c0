import { within } from "../../shared/machine/ports.ts";
import { idsToName } from "../rules/words/prompt.ts";
import type { Names } from "../rules/words/readable-text.ts";
import type { Admission, Directory } from "../rules/ports/directory.ts";
import type { Place, Request, ThreadContext, ThreadMessage } from "../rules/turn/request.ts";
import { startOf, wordsIn } from "../../shared/text/text.ts";
import type { Turn } from "../rules/turn/turn.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import {
  compareTs,
  contextOf,
  needsThread,
  seenUpTo,
  withheldAmong,
  without,
  withoutShown,
} from "../rules/thread/messages-to-share.ts";
import { GUEST_FILE, GUEST_MESSAGE, withLeftOut } from "../rules/thread/left-out.ts";
import { jobKey } from "../rules/project.ts";
import { threadIdOf } from "../rules/records.ts";
import type { TaskEnd } from "../../shared/queue/task-queue.ts";
import type { TurnPayload } from "../rules/decisions/payload.ts";
import type { KnownJob } from "../rules/known-job.ts";
import { MAX_NAME_CHARS, type Requester } from "../../shared/contract/request.ts";

/** The most names of one kind to look up. The rest stay ids. */
const MAX_NAMES = 20;
/** How long to wait for names. Names that arrive later stay ids, too. */
const NAMES_WITHIN_MS = 2_000;

const NO_NAMES = { people: new Map(), channels: new Map(), groups: new Map() };

/**
 * Readable names for the ids in what a request quotes, and its permalink, if Slack gives them in
 * time.
 */
export async function namesOfRequest(
  deps: Pick<TaskDeps, "clock" | "directory">,
  request: Request,
): Promise<Names> {
  const ids = idsToName(request);
  if (ids === null) return { ...NO_NAMES, permalink: null };
  const [names, permalink] = await Promise.all([
    lookUpNames(deps, ids),
    within(deps.clock, NAMES_WITHIN_MS, deps.directory.permalink(ids.message), null),
  ]);
  return { ...names, permalink };
}

/**
 * Describes the requester to the job service. What Slack doesn't say in time gets the careful
 * default: the id as name, and a private place.
 */
export async function requesterOf(
  { clock, directory }: Pick<TaskDeps, "clock" | "directory">,
  { request, delivery }: Turn,
): Promise<Requester> {
  const { channelId, userId } = request;
  const ts = request.threadTs ?? (delivery.channelId === channelId ? delivery.threadTs : null);
  const asked = Promise.all([directory.personName(userId), directory.isPublic(channelId)]);
  const [name, isPublic] = (await within(clock, NAMES_WITHIN_MS, asked, null)) ?? [null, false];
  const link = ts === null ? null : directory.threadUrl({ channelId, ts });
  const shown = startOf(wordsIn(name ?? ""), MAX_NAME_CHARS).toWellFormed();
  return { name: shown === "" ? userId : shown, link, isPrivate: !isPublic };
}

/**
 * Looks up names of people, channels and groups, as far as Slack gives them within `withinMs`
 * milliseconds.
 */
export async function lookUpNames(
  deps: Pick<TaskDeps, "clock"> & { directory: Pick<Directory, "personName" | "channelName" | "groupName"> },
  ids: Record<"people" | "channels" | "groups", readonly string[]>,
  withinMs = NAMES_WITHIN_MS,
): Promise<Omit<Names, "permalink">> {
  const { clock, directory } = deps;
  async function namesBy(wanted: readonly string[], nameOf: (id: string) => Promise<string | null>) {
    const asked = wanted.slice(0, MAX_NAMES).map(async (id) => {
      const name = await within(clock, withinMs, nameOf(id), null);
      return name === null ? [] : [[id, name] as const];
    });
    return new Map((await Promise.all(asked)).flat());
  }
  const [people, channels, groups] = await Promise.all([
    namesBy(ids.people, (id) => directory.personName(id)),
    namesBy(ids.channels, (id) => directory.channelName(id)),
    namesBy(ids.groups, (id) => directory.groupName(id)),
  ]);
  return { people, channels, groups };
}

/**
 * The longest that a request waits for its thread: if Slack says when to come again (some apps get
 * one call a minute), and if it doesn't.
 */
const PATIENCE_MS = { withRetryAfter: 195_000, withoutRetryAfter: 10_000 };
const AGAIN_AFTER_MS = 4_000;
/** How many of the thread's newest turns are checked for what the agent has seen. */
const TURNS = 20;

/**
 * The part of its thread that goes along with a turn that is about to be sent. For a follow-up,
 * that is what was said since `job` last got a message. Messages in `withheld` are left out. `wait`
 * means that Slack has to be asked again soon. Undefined if nothing has to be read.
 */
export async function threadOfRequest(
  deps: Pick<TaskDeps, "records" | "threadReader" | "directory" | "clock" | "logger">,
  turn: Turn,
  { job, withheld }: { job: KnownJob | null; withheld: readonly string[] },
  payload: TurnPayload,
): Promise<ThreadContext | { wait: TaskEnd } | undefined> {
  const { request } = turn;
  const { channelId, threadTs, messageTs, receivedAt } = request;
  if (threadTs === null || messageTs === undefined || !needsThread(request)) return undefined;
  const seen = job === null ? null : await newestSeen(deps, turn, job);
  const read = await deps.threadReader.read(
    { channelId, threadTs },
    { after: seen, before: messageTs, position: payload.threadLook },
  );
  const stopped = read.ok ? read.value.stopped : read.fault;
  const againMs = stopped === null ? null : againAfterMs(stopped, read.ok, deps.clock.now() - receivedAt);
  if (againMs !== null) {
    const next = read.ok && read.value.stopped !== null ? { threadLook: read.value.stopped.position } : {};
    const waiting = { ...payload, ...next };
    return { wait: { kind: "wait", dueAt: deps.clock.now() + againMs, payload: waiting } };
  }
  if (!read.ok) {
    deps.logger.warn({ error: read.fault.error }, "could not read a thread; the request goes without it");
    return { messages: [], leftOut: 0 };
  }
  const context = contextOf(read.value, messageTs, withheld);
  // The agent of a job knows how its turns ended.
  const isKnown = (message: object) => job !== null && "isOwn" in message && message.isOwn === true;
  const isWithheld = withheldAmong(withheld);
  const shared = without(context, (message) => isWithheld(message) || isKnown(message));
  return withoutGuests(deps, shared);
}

/**
 * Removes messages by people who may not use the app, or about whom Slack can't say now. Nothing of
 * theirs leaves Slack.
 */
export async function withoutGuests(
  { directory }: { directory: Pick<Directory, "admission"> },
  context: ThreadContext,
): Promise<ThreadContext> {
  const isRefused = await refusedOf(directory, context.messages);
  const kept = context.messages.filter((message) => !isRefused(message));
  const shared = kept.map((message) => withoutRefused(message, isRefused));
  const gone = context.messages.filter(isRefused).map(countOf);
  const ofGuests = [...gone, ...shared.map((each) => each.ofGuests)].reduce((sum, n) => sum + n, 0);
  const messages = shared.map(({ message }) => message);
  return { ...context, messages, ...(ofGuests === 0 ? {} : { ofGuests }) };
}

/**
 * What the message that asked shows, without messages of people who may not use the app. They are
 * counted as left out. If `keepsUnchecked` is true, messages stay about whose authors Slack can't
 * say now.
 */
export async function besideOfRequest(
  deps: { directory: Pick<Directory, "admission"> },
  { beside }: Pick<Request, "beside">,
  keepsUnchecked = false,
): Promise<ThreadMessage | undefined> {
  if (beside === undefined) return undefined;
  const { message, ofGuests } = await withoutGuestsShown(deps, beside, keepsUnchecked);
  if (ofGuests === 0) return message;
  return { ...message, leftOut: withLeftOut(message.leftOut, GUEST_MESSAGE, ofGuests) };
}

/**
 * Removes messages that a message shows by people who may not use the app, or about whom Slack
 * can't say now. `ofGuests` is their number.
 */
export async function withoutGuestsShown<T extends Pick<ThreadMessage, "shows" | "leftOut">>(
  { directory }: { directory: Pick<Directory, "admission"> },
  message: T,
  keepsUnchecked = false,
): Promise<{ message: T; ofGuests: number }> {
  const { shows } = message;
  if (shows === undefined) return { message, ofGuests: 0 };
  const isRefused = await refusedOf(directory, [{ authorId: null, shows }], keepsUnchecked);
  return withoutRefused(message, isRefused);
}

/**
 * Removes messages that a message shows, and files in it, by their authors. Files are counted as
 * left out of the message. `ofGuests` is the number of messages.
 */
export function withoutRefused<T extends Pick<ThreadMessage, "shows" | "leftOut">>(
  message: T,
  isRefused: Awaited<ReturnType<typeof refusedOf>>,
): { message: T; ofGuests: number } {
  const kept = withoutShown(message, isRefused);
  const gone = (message.shows ?? []).filter((shown) => kept.shows?.includes(shown) !== true);
  const files = gone.filter(({ isFile }) => isFile === true).length;
  const leftOut = files === 0 ? {} : { leftOut: withLeftOut(kept.leftOut, GUEST_FILE, files) };
  return { message: { ...kept, ...leftOut }, ofGuests: gone.length - files };
}

/**
 * Returns a test for messages by people who may not use the app. It also covers the messages that
 * these show, and files that others uploaded. For `keepsUnchecked`, see {@link besideOfRequest}.
 */
export async function refusedOf(
  directory: Pick<Directory, "admission">,
  messages: readonly Pick<ThreadMessage, "authorId" | "shows">[],
  keepsUnchecked = false,
): Promise<(message: Pick<ThreadMessage, "authorId">) => boolean> {
  const all = messages.flatMap(({ authorId, shows = [] }) => [
    { authorId },
    ...shows.flatMap((shown) => [shown, ...(shown.within ?? [])]),
  ]);
  const authors = new Set(all.flatMap(({ authorId }) => authorId ?? []));
  const admissions = await Promise.all(
    [...authors].map(async (id) => [id, await directory.admission(id)] as const),
  );
  const isIn = (admission: Admission) =>
    admission === "admitted" || (keepsUnchecked && admission === "unchecked");
  const refused = new Set(admissions.flatMap(([id, admission]) => (isIn(admission) ? [] : [id])));
  return ({ authorId }) => authorId !== null && refused.has(authorId);
}

function countOf({ shows = [] }: ThreadMessage): number {
  return 1 + shows.filter(({ isFile }) => isFile !== true).length;
}

/** How long to wait before asking Slack again. Null if time is up or waiting doesn't help. */
function againAfterMs(
  { kind, retryAfterMs }: { kind?: string; retryAfterMs?: number | undefined },
  isPart: boolean,
  ageMs: number,
): number | null {
  if (kind === "place" || kind === "credentials") return null;
  // A read that stopped for another reason would stop there again.
  if (isPart && retryAfterMs === undefined) return null;
  const delayMs = retryAfterMs ?? AGAIN_AFTER_MS;
  const patienceMs = retryAfterMs === undefined ? PATIENCE_MS.withoutRetryAfter : PATIENCE_MS.withRetryAfter;
  return ageMs + delayMs <= patienceMs ? delayMs : null;
}

/** The newest message that the job's turns say it was sent. */
async function newestSeen(
  { records }: Pick<TaskDeps, "records">,
  { id, request }: Turn,
  job: KnownJob,
): Promise<string | null> {
  const threadKey = threadIdOf(request);
  const thread = threadKey === null ? undefined : await records.get("thread", threadKey);
  const ids = (thread?.turnIds ?? []).filter((other) => other !== id).slice(-TURNS);
  const turns = await Promise.all(ids.map((other) => records.get("turn", other)));
  const key = jobKey(request.project, job.id);
  const seen = turns
    .filter((turn) => turn?.job && jobKey(turn.request.project, turn.job.id) === key)
    .flatMap((turn) => (turn === undefined ? [] : (seenUpTo(turn.request) ?? [])));
  return seen.toSorted(compareTs).at(-1) ?? null;
}

/** The `ts` of messages in a thread that people chose not to share. The list only grows. */
export async function withheldIn({ records }: Pick<TaskDeps, "records">, place: Place): Promise<string[]> {
  const id = threadIdOf(place);
  return id === null ? [] : ((await records.get("withheld", id))?.messages ?? []);
}
