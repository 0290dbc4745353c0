import type { Request } from "../turn/request.ts";
import { type AccessSettings, asItsChannelAllows } from "../access.ts";
import type { MessageOf } from "../ports/notifier.ts";
import type { AskedQuestion, Plan, Read, AppRecords } from "../records.ts";
import { inLine, jobInThread, newestOfThread, statusOwnerFor, alsoShowing } from "../thread/follow-up.ts";
import { projectKey, type ProjectRef } from "../project.ts";
import { isForgotten } from "../forgotten/forgotten.ts";
import { listAppends } from "../thread/request-list.ts";
import {
  type Asker,
  type SameRequest,
  askedWrites,
  isAddable,
  openPullRequestOf,
  sameRequest,
} from "../thread/same-request.ts";
import { maySteer, notAllowed, type FollowUps } from "../thread/people.ts";
import { newTurn, type Turn } from "../turn/turn.ts";
import { isAnswer } from "./answering.ts";
import { openTask, reactTasks, refreshTask, submitTask } from "./new-tasks.ts";
import { turnWrites } from "./turn-writes.ts";
import type { TaskDeps } from "../ports/deps.ts";
import { z } from "zod";
import { RateLimited } from "./payload.ts";
import type { Limit } from "../../../shared/store/rate-limiter.ts";

/**
 * The job that a request is for.
 *
 * - `own-job`: a new job.
 * - `separate-job`: a new job, in a thread that may have another one.
 * - `thread`: the job of its thread, in any project.
 * - `thread-in-project`: the job of its thread, if that is in the request's project.
 * - `own-open-request`: the job of its thread, if the same person made the newest open request
 *   there. Otherwise the message isn't a request.
 */
export type WantedJob =
  | "own-job"
  | "separate-job"
  | "thread"
  | "thread-in-project"
  | "own-open-request"
  | AddTo;

/** The job of this turn, while its pull request is open. Otherwise a new job. */
type AddTo = { addTo: string };

/**
 * - `known`: already accepted, or not meant for us.
 * - `asked-before`: somebody asked for the same, and that turn runs, or its pull request is open.
 * - `elsewhere`: perhaps they did in a channel. Look up which channels the person is in.
 * - `not-allowed`: only its requester may steer the job.
 */
export type AcceptanceEnd =
  | { kind: "accepted" | "known" | "elsewhere" }
  | ({ kind: "asked-before" } & SameRequest)
  | MessageOf<"not-allowed">;

type AcceptDeps = Pick<TaskDeps, "clock" | "polling" | "retentionMs"> & {
  /** The configured projects. */
  projects: readonly ProjectRef[];
  followUps: FollowUps;
  access: Pick<AccessSettings, "askOnly">;
};

/**
 * Accepts a request: stores its turn and adds the tasks for the create and the status message,
 * which don't wait for each other. The turn's id comes from what Slack sent, so a redelivery or a
 * second press finds it, changes nothing and counts against no limit. If {@link sameRequest} finds
 * another one, nothing is accepted. Without `asker`, this isn't checked.
 */
export function acceptance(
  deps: AcceptDeps,
  read: Read,
  asked: Request,
  wanted: WantedJob,
  within: readonly Limit[],
  asker?: Asker,
): Plan<AcceptanceEnd> {
  const request = asItsChannelAllows(deps.access, asked);
  if (read("turn", request.id) !== undefined || isForgotten(read, request.id)) {
    return { value: { kind: "known" } };
  }
  if (asker !== undefined) {
    // The person was asked about it, and this is a redelivery.
    if (read("reply", request.id)?.sameAs !== undefined) return { value: { kind: "known" } };
    const same = sameRequest(deps, read, request, asker);
    if (same === "elsewhere") return { value: { kind: "elsewhere" } };
    if (same !== undefined) return { value: { kind: "asked-before", ...same } };
  }
  if (isAnswer(read, request)) return { value: { kind: "known" } };
  const turn = turnFor(deps, read, request, wanted);
  if (turn === undefined) return { value: { kind: "known" } };
  if ("kind" in turn) return { value: turn };
  // It may have been added to a job of another channel.
  const allowed = { ...turn, request: asItsChannelAllows(deps.access, turn.request) };
  const { writes, ...accepted } = accepting(deps, read, allowed);
  const keptMs = deps.polling.deadlineMs + deps.retentionMs;
  return {
    ...accepted,
    writes: [...writes, ...askedWrites(read, allowed, keptMs, deps.clock.now())],
    within,
    value: { kind: "accepted" },
  };
}

/** What to write and add for a new turn. */
export function accepting(
  deps: Pick<AcceptDeps, "clock" | "polling" | "retentionMs">,
  read: Read,
  given: Turn,
): Required<Pick<Plan<unknown>, "writes" | "adds" | "appends">> {
  const { turn, before } = inLine(read, given);
  // The list keeps the entry as long as the turn may be kept.
  const appends = listAppends(turn.request, deps.polling.deadlineMs + deps.retentionMs);
  const owner = statusOwnerFor(read, turn);
  const own = owner === undefined ? turn : { ...turn, delivery: { ...turn.delivery, statusOf: owner.id } };
  const waitedFor = before === null ? [] : [before];
  const showing =
    owner === undefined ? [] : [alsoShowing(waitedFor.find(({ id }) => id === owner.id) ?? owner, own)];
  return {
    writes: turnWrites(deps, read, ...waitedFor, ...showing, own),
    adds: [submitTask(own), owner === undefined ? openTask(own) : refreshTask(own), ...reactTasks(own)],
    appends,
  };
}

/** The turn for a request that wants this job. Undefined if there is none. */
export function turnFor(
  deps: Pick<AcceptDeps, "clock" | "projects" | "followUps">,
  read: Read,
  request: Request,
  wanted: WantedJob,
): Turn | undefined | MessageOf<"not-allowed"> {
  const { projects, followUps } = deps;
  if (typeof wanted === "object") return added(deps, read, request, wanted.addTo);
  if (wanted === "own-job") return newTurn(request);
  if (wanted === "separate-job") return separate(read, request);
  if (wanted === "own-open-request") {
    const found = jobInThread(read, request, projects);
    const isOwn = found.kind === "open" && found.turn.request.userId === request.userId;
    return isOwn ? followUp(request, found.turn) : undefined;
  }
  const found = jobInThread(read, request, projects, (turn) => maySteer(followUps, turn, request.userId));
  switch (found.kind) {
    case "none":
      return newTurn(request);
    case "closed":
      if (wanted === "thread-in-project") return newTurn(request);
      return { ...newTurn({ ...request, project: found.project ?? request.project }), isStartedAnew: true };
    case "open":
    case "others": {
      const { turn } = found;
      const isOther = projectKey(turn.request.project) !== projectKey(request.project);
      if (wanted === "thread-in-project" && isOther) return separate(read, request);
      return found.kind === "open" ? followUp(request, turn) : notAllowed(turn);
    }
  }
}

function separate(read: Read, request: Request): Turn {
  const isBeside = newestOfThread(read, request).next().done !== true;
  return { ...newTurn(request), ...(isBeside && { isSeparate: true }) };
}

function followUp(request: Request, { id, request: { project } }: Turn): Turn {
  return newTurn({ ...request, project, follows: { turnId: id } });
}

/** A follow-up in the thread of an open pull request, or a new job if there is none anymore. */
function added(
  deps: Pick<AcceptDeps, "clock" | "projects" | "followUps">,
  read: Read,
  request: Request,
  turnId: string,
): Turn | MessageOf<"not-allowed"> {
  const turn = read("turn", turnId);
  const left = turn && openPullRequestOf(read, turn, deps.clock.now());
  // Only where requests change something, they belong to a pull request elsewhere.
  const isAdded = left !== undefined && request.changesNothing !== true && isAddable(deps, read, left);
  if (!isAdded) return newTurn(request);
  if (!maySteer(deps.followUps, left, request.userId)) return notAllowed(left);
  const { channelId, threadTs } = left.delivery;
  // The message that asked is in another thread. The agent's next turns don't begin there.
  const { messageTs: _, ...words } = request;
  return followUp({ ...words, channelId, threadTs }, left);
}

/** How long a message's words are kept for its author to decide whether to send them. */
const REPLY_KEPT_MS = 24 * 60 * 60_000;

/** How long to keep such a reply from now on, milliseconds. */
export function keepReplyMs({ receivedAt }: Request, now: number): number {
  return Math.max(1, receivedAt + REPLY_KEPT_MS - now);
}

/** How long a form's draft is kept, and a request whose author has a choice: over a weekend. */
export const DRAFT_KEPT_MS = 7 * 24 * 60 * 60_000;

export const AskPayload = RateLimited.extend({ replyId: z.string() });

/**
 * Asks the author of a reply in an open job's thread if it is for the agent. It asks once, however
 * often the reply arrives.
 */
export function asking(deps: { projects: readonly ProjectRef[] }, read: Read, request: Request): Plan<void> {
  if (jobInThread(read, request, deps.projects).kind !== "open") return { value: undefined };
  return askingOf({ version: 1, request });
}

/**
 * Asks the author of a direct message whether it answers a question that is open there. It asks
 * once, however often the message arrives.
 */
export function askingWhich(request: Request, answers: AskedQuestion): Plan<void> {
  return askingOf({ version: 1, request, answers });
}

/**
 * Asks the author of a request what to do with it, because `same` asks for the same and runs, or
 * its pull request is open. It asks once, however often the request arrives.
 */
export function askingBeside(request: Request, { turn, mayAdd }: SameRequest): Plan<void> {
  return askingOf({ version: 1, request, sameAs: { turnId: turn.id, mayAdd } }, DRAFT_KEPT_MS);
}

/**
 * Asks the author of a request which project it is for, unless that has been accepted. It asks
 * once, however often the request arrives. The request's project counts for nothing until then.
 */
export function askingForProject(read: Read, request: Request): Plan<void> {
  const isKnown = read("turn", request.id) !== undefined || read("reply", request.id) !== undefined;
  if (isKnown || isForgotten(read, request.id)) return { value: undefined };
  return askingOf({ version: 1, request, asksProject: true }, DRAFT_KEPT_MS, "ask-project");
}

function askingOf(record: AppRecords["reply"], ttlMs = REPLY_KEPT_MS, of = "ask"): Plan<void> {
  const { id } = record.request;
  const payload = { replyId: id } satisfies z.infer<typeof AskPayload>;
  return {
    writes: [{ kind: "reply", id, record, ttlMs }],
    adds: [{ id: `${of}:${id}`, type: "ask", payload }],
    value: undefined,
  };
}
