import { STATUS_SLOT } from "../turn/delivery.ts";
import { configuredProject } from "../ports/job-service.ts";
import type { Place } from "../turn/request.ts";
import { jobKey, type ProjectRef } from "../project.ts";
import { threadIdOf, type JobRecord, type Read } from "../records.ts";
import { isFollowUp, isUnsent, turnPrLink, type Turn } from "../turn/turn.ts";

/**
 * The job that a reply in a thread is for.
 *
 * - `open`: `turn` is the newest that the person may steer, and its job accepts messages or soon
 *   will.
 * - `others`: jobs accept messages, but the person may steer none of them. `turn` is the newest.
 * - `closed`: no job accepts messages anymore. `project` is the newest job's, if still configured.
 * - `none`: the thread has no job.
 */
type ThreadJob =
  | { kind: "open" | "others"; turn: Turn }
  | { kind: "closed"; project: ProjectRef | null }
  | { kind: "none" };

/** `isTheirs` is true for turns that the person may steer. */
export function jobInThread(
  read: Read,
  place: Place,
  projects: readonly ProjectRef[],
  isTheirs: (turn: Turn) => boolean = () => true,
): ThreadJob {
  const seen = new Set<string>();
  let other: Turn | undefined;
  let closed: ProjectRef | undefined;
  for (const turn of turnsOfThread(read, place)) {
    const { job, stage, request } = turn;
    const { project } = request;
    if (job === null && stage.name === "ended") continue;
    const key = job === null ? turn.id : jobKey(project, job.id);
    if (seen.has(key)) continue;
    seen.add(key);
    const isOpen = !isJobClosed(turn) && configuredProject(projects, project) !== undefined;
    if (isOpen && isTheirs(turn)) return { kind: "open", turn };
    if (isOpen) other ??= turn;
    else closed ??= project;
  }
  if (other !== undefined) return { kind: "others", turn: other };
  if (closed === undefined) return { kind: "none" };
  return { kind: "closed", project: configuredProject(projects, closed) ?? null };
}

/** True if the turn's end shows that its job accepts no more messages. */
export function isJobClosed({ stage }: Turn): boolean {
  if (stage.name !== "ended") return false;
  const { kind, job } = stage.outcome;
  return kind === "archived" || kind === "missing" || job?.status === "archived";
}

/** The most turns of a thread that are read, newest first. */
export const NEWEST_TURNS_MAX = 20;

/** Finds the newest unfinished turn among a thread's newest turns. */
export function runningInThread(read: Read, place: Place): Turn | undefined {
  return newestOfThread(read, place).find(({ stage }) => stage.name !== "ended");
}

/** Yields a thread's newest turns, newest first, reading each one on demand. */
export function newestOfThread(read: Read, place: Place): IteratorObject<Turn> {
  return turnsOfThread(read, place).take(NEWEST_TURNS_MAX);
}

/** Yields all turns of a thread, newest first, reading each one on demand. */
function* turnsOfThread(read: Read, place: Place): Generator<Turn> {
  const id = threadIdOf(place);
  const { turnIds = [] } = (id === null ? undefined : read("thread", id)) ?? {};
  for (const turnId of turnIds.toReversed()) {
    const turn = read("turn", turnId);
    if (turn !== undefined) yield turn;
  }
}

/**
 * Lines a follow-up up behind the turn it follows, or behind the last that already waits for that
 * turn. `before` is the turn it waits for, with that noted, or null if it needn't wait.
 */
export function inLine(read: Read, turn: Turn): { turn: Turn; before: Turn | null } {
  const { follows } = turn.request;
  let last = follows === undefined ? undefined : read("turn", follows.turnId);
  if (last === undefined || !isUnsent(last)) return { turn, before: null };
  for (let next = nextOf(read, last); next !== undefined; next = nextOf(read, next)) last = next;
  return {
    turn: { ...turn, request: { ...turn.request, follows: { turnId: last.id } } },
    before: { ...last, nextId: turn.id },
  };
}

function nextOf(read: Read, { nextId }: Turn): Turn | undefined {
  const next = nextId === undefined ? undefined : read("turn", nextId);
  return next !== undefined && isUnsent(next) ? next : undefined;
}

/** The job's pull request after one of its turns. */
export function pullRequestAfter(known: JobRecord["pullRequest"], turn: Turn): JobRecord["pullRequest"] {
  const url = turnPrLink(turn);
  return url === null || url === known?.url ? known : { url, turnId: turn.id };
}

/** Adds to an ended follow-up the pull request that an earlier turn of its job left. */
export function withPrBefore(turn: Turn, left: JobRecord["pullRequest"]): Turn {
  const { stage } = turn;
  if (stage.name !== "ended" || !isFollowUp(turn) || left === undefined || left.turnId === turn.id)
    return turn;
  return { ...turn, stage: { ...stage, outcome: { ...stage.outcome, prBefore: left.url } } };
}

/** The turns shown by a turn's status message, beginning with its own. */
export function shownBy(read: Read, turn: Turn): Turn[] {
  return [turn, ...(turn.delivery.alsoShows ?? []).flatMap((id) => read("turn", id) ?? [])];
}

/** The other turns that are shown by the same status message as this one. */
export function shownWith(read: Read, turn: Turn): Turn[] {
  return shownBy(read, statusOwnerOf(read, turn) ?? turn).filter(({ id }) => id !== turn.id);
}

/** The turn whose status message shows this one. Undefined if it is gone. */
function statusOwnerOf(read: Read, turn: Turn): Turn | undefined {
  const { statusOf } = turn.delivery;
  return statusOf === undefined ? turn : read("turn", statusOf);
}

/** The owner of a status message after it has taken in another turn. */
export function alsoShowing(owner: Turn, { id }: Turn): Turn {
  const alsoShows = [...(owner.delivery.alsoShows ?? []), id];
  return { ...owner, delivery: { ...owner.delivery, alsoShows } };
}

/** The most turns that one status message shows besides its own. */
const SHOWN_MAX = 20;

/**
 * Finds the turn whose status message can show this one too. That is the turn being tried again, or
 * the turn that a follow-up's job is still working on, or that turn's own owner. Undefined means
 * that this turn needs its own status message.
 */
export function statusOwnerFor(read: Read, { request, delivery }: Turn): Turn | undefined {
  const { retries, follows } = request;
  const shown = retries ?? follows;
  const before = shown === undefined ? undefined : read("turn", shown.turnId);
  if (before === undefined || (retries === undefined && before.stage.name === "ended")) return undefined;
  const owner = statusOwnerOf(read, before);
  // Slack refused the last update of that message, so it can't show anything new.
  if (owner?.delivery.refusedUpdate !== undefined || owner?.delivery.isStatusGone === true) return undefined;
  if ((owner?.delivery.alsoShows?.length ?? 0) >= SHOWN_MAX) return undefined;
  const slot = owner?.delivery.slots[STATUS_SLOT];
  // A message that hasn't arrived yet may never arrive, or arrive in another place.
  const isHere =
    slot !== undefined &&
    slot.ts !== null &&
    slot.channelId === delivery.channelId &&
    owner?.delivery.threadTs === delivery.threadTs;
  return isHere ? owner : undefined;
}
