import { hash } from "node:crypto";
import { FOLLOWED_MS } from "../../../shared/contract/pull-request.ts";
import { configuredProject } from "../ports/job-service.ts";
import { jobKey, projectKey, type ProjectRef } from "../project.ts";
import type { AppRecords, Read, Write } from "../records.ts";
import { isReply, type Request } from "../turn/request.ts";
import { hasOpenPullRequest, type Turn } from "../turn/turn.ts";
import { newestOfThread, isJobClosed, runningInThread } from "./follow-up.ts";
import { type FollowUps, maySteer } from "./people.ts";
import { isDirect, maySee } from "./request-list.ts";

/** A request for the same as another one: its turn runs, or its pull request is open. */
export type SameRequest = {
  /** The turn that runs, or the one that left the pull request. */
  turn: Turn;
  /** True if the person may add to its pull request. */
  mayAdd: boolean;
};

/** A person who asks, as far as is known. */
export type Asker = {
  /** The turns that the person has been told of and that they don't mean. */
  warnedOf: readonly string[];
  /** The channels that they are in. Absent if nobody has looked that up. */
  channels?: ReadonlySet<string>;
};

type SameDeps = {
  clock: { now: () => number };
  projects: readonly ProjectRef[];
  followUps: FollowUps;
};

/**
 * Finds the newest request for the same that its asker may see: about the same message, in the same
 * words or, for the shortcut, running in the same thread. Nobody is told that they ask again for
 * what runs for them in the same words. `elsewhere` means that there may be one, in a channel of
 * which it isn't known whether the person is in it.
 */
export function sameRequest(
  deps: SameDeps,
  read: Read,
  request: Request,
  { warnedOf, channels }: Asker,
): SameRequest | "elsewhere" | undefined {
  const { teamId, userId, channelId } = request;
  const now = deps.clock.now();
  const viewer = { teamId, userId, channels: new Set([...(channels ?? []), channelId]) };
  let isElsewhere = false;
  for (const { turn, isOfThread } of candidates(read, request)) {
    const found = isRunning(turn) ? turn : openPullRequestOf(read, turn, now);
    if (found === undefined || warnedOf.includes(found.id)) continue;
    const isRepeated = isRunning(found) && !isOfThread && found.request.userId === userId;
    // If its result goes to one person alone, nobody else can follow it.
    if (isRepeated || (found.delivery.away !== null && found.request.userId !== userId)) continue;
    const isSeen = isOfThread || maySee(found, viewer);
    if (isSeen) return { turn: found, mayAdd: mayAddTo(deps, read, found, request) };
    isElsewhere ||= channels === undefined && !isDirect(found.delivery.channelId);
  }
  return isElsewhere ? "elsewhere" : undefined;
}

/** The turns that may be for the same. Those in the thread that was picked come first. */
function* candidates(read: Read, request: Request): Generator<{ turn: Turn; isOfThread: boolean }> {
  const running = request.from === "shortcut" ? runningInThread(read, request) : undefined;
  if (running !== undefined) yield { turn: running, isOfThread: true };
  for (const id of askedIds(request)) {
    for (const turnId of turnIdsOf(read("asked", id))) {
      const turn = read("turn", turnId);
      if (turn !== undefined) yield { turn, isOfThread: false };
    }
  }
}

/** The turn that left the open pull request of a turn's job. Undefined if there is none. */
export function openPullRequestOf(read: Read, { job, request }: Turn, now: number): Turn | undefined {
  const left = job === null ? undefined : read("job", jobKey(request.project, job.id))?.pullRequest;
  const turn = left === undefined ? undefined : read("turn", left.turnId);
  return turn !== undefined && hasOpenPullRequest(turn, now) ? turn : undefined;
}

/** True if a request may be added to the pull request that a turn left. */
function mayAddTo(deps: SameDeps, read: Read, turn: Turn, { changesNothing, userId }: Request): boolean {
  if (changesNothing === true) return false;
  return isAddable(deps, read, turn) && maySteer(deps.followUps, turn, userId);
}

/** True if the job of a turn's open pull request accepts messages in its thread. */
export function isAddable({ clock, projects }: Omit<SameDeps, "followUps">, read: Read, turn: Turn): boolean {
  const { delivery, request, job } = turn;
  if (!hasOpenPullRequest(turn, clock.now()) || delivery.threadTs === null || delivery.away !== null)
    return false;
  if (configuredProject(projects, request.project) === undefined) return false;
  const place = { ...request, channelId: delivery.channelId, threadTs: delivery.threadTs };
  const newest = newestOfThread(read, place).find((other) => other.job?.id === job?.id) ?? turn;
  return !isJobClosed(newest);
}

function isRunning({ stage }: Turn): boolean {
  return stage.name !== "ended";
}

/** The most earlier turns that are remembered for the same words or the same message. */
const EARLIER_MAX = 4;
/** The most messages by which a request can be found. */
const MESSAGES_MAX = 5;

/**
 * Returns what to write with a request's turn so that {@link sameRequest} finds it. It holds no
 * words. It is kept for `keptMs`, and longer if an earlier turn's pull request is open.
 */
export function askedWrites(read: Read, turn: Turn, keptMs: number, now: number): Write[] {
  return askedIds(turn.request).map((id) => {
    const known = read("asked", id);
    const earlier = turnIdsOf(known).filter((turnId) => {
      const other = turnId === turn.id ? undefined : read("turn", turnId);
      return other !== undefined && (isRunning(other) || openPullRequestOf(read, other, now) !== undefined);
    });
    const record = { ...known, version: 1 as const, turnId: turn.id, earlier: earlier.slice(0, EARLIER_MAX) };
    return {
      kind: "asked",
      id,
      record,
      ttlMs: earlier.length === 0 ? keptMs : Math.max(keptMs, FOLLOWED_MS),
    };
  });
}

/** Returns what to write once a turn's pull request is followed: it is found while it is open. */
export function askedAgainWrites(read: Read, { id: turnId, request }: Turn, keptMs: number): Write[] {
  return askedIds(request).map((id) => {
    const known = read("asked", id);
    const ids = turnIdsOf(known);
    const [newest = turnId, ...earlier] = ids.includes(turnId) ? ids : [...ids, turnId];
    const record = { ...known, version: 1 as const, turnId: newest, earlier };
    return { kind: "asked", id, record, ttlMs: Math.max(keptMs, FOLLOWED_MS) };
  });
}

function turnIdsOf(known: AppRecords["asked"] | undefined): string[] {
  return known === undefined ? [] : [known.turnId, ...(known.earlier ?? [])];
}

/** The ids by which a request is found: of its words, if they say it all, and of its messages. */
function askedIds(request: Request): string[] {
  const { teamId, project, quoted, beside } = request;
  const words = saysItAll(request) ? normalWords(request.instructions) : "";
  const shown = (beside?.shows ?? []).filter(({ isFile }) => isFile !== true);
  const messages = [...(quoted === null ? [] : [quoted]), ...shown].filter(({ ts }) => ts !== "");
  const parts = [
    ...(words === "" ? [] : [[projectKey(project), words]]),
    ...messages.slice(0, MESSAGES_MAX).map(({ ts, authorId }) => [ts, authorId]),
  ];
  const ids = parts.map((part) => hash("sha256", JSON.stringify(part), "base64url").slice(0, 22));
  return [...new Set(ids)].map((id) => `${teamId}:${id}`);
}

/** True if a request has nothing but its words, as far as its event says, and isn't in a thread. */
function saysItAll(request: Request): boolean {
  const { follows, quoted, files, beside, context, threadTs, messageTs } = request;
  if (follows !== undefined || quoted !== null || files !== undefined || beside !== undefined) return false;
  if ((context?.messages ?? []).length > 0) return false;
  return messageTs === undefined || !isReply(threadTs, messageTs);
}

/**
 * Words as they are compared: without case, punctuation, marks of code, and our name before them.
 */
export function normalWords(text: string): string {
  const words = text.normalize("NFKC").toLowerCase().normalize("NFKC");
  const bare = words.replaceAll(/[\p{P}\p{Sk}\p{C}\p{Z}\s]+/gu, " ").trim();
  return bare.replace(OUR_NAME, "");
}

/** The command's name as people also type it in words. */
const OUR_NAME = /^(?:docs ?agent )+/;
