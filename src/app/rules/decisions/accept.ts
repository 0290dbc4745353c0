import { isReply, type Request } from "../turn/request.ts";
import type { MessageOf } from "../ports/notifier.ts";
import type { AskedQuestion, Plan, Read, AppRecords, Write } from "../records.ts";
import {
  inLine,
  jobInThread,
  newestOfThread,
  runningInThread,
  statusOwnerFor,
  alsoShowing,
} from "../thread/follow-up.ts";
import { projectKey, type ProjectRef } from "../project.ts";
import { listAppends } from "../thread/request-list.ts";
import { maySteer, notAllowed, type FollowUps } from "../thread/people.ts";
import { newTurn, type Turn } from "../turn/turn.ts";
import { isAnswer } from "./answering.ts";
import { openTask, reactTasks, refreshTask, submitTask } from "./new-tasks.ts";
import { turnWrites } from "./turn-writes.ts";
import type { TaskDeps } from "../ports/deps.ts";
import { hash } from "node:crypto";
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
export type WantedJob = "own-job" | "separate-job" | "thread" | "thread-in-project" | "own-open-request";

/**
 * - `known`: already accepted, or not meant for us.
 * - `asked-before`: somebody asked for the same, and that turn is running.
 * - `not-allowed`: only its requester may steer the thread's job.
 */
export type AcceptanceEnd =
  | { kind: "accepted" | "known" }
  | { kind: "asked-before"; turn: Turn }
  | MessageOf<"not-allowed">;

type AcceptDeps = Pick<TaskDeps, "clock" | "polling" | "retentionMs"> & {
  /** The configured projects. */
  projects: readonly ProjectRef[];
  followUps: FollowUps;
};

/**
 * Accepts a request: stores its turn and adds the tasks for the create and the status message,
 * which don't wait for each other. The turn's id comes from what Slack sent, so a redelivery or a
 * second press finds it, changes nothing and counts against no limit. `warnedOf` lists the running
 * turns that the person has already been warned of. If another turn is running for the same request
 * (for the shortcut: in the same thread), nothing is accepted. Without `warnedOf`, this isn't
 * checked.
 */
export function acceptance(
  deps: AcceptDeps,
  read: Read,
  request: Request,
  wanted: WantedJob,
  within: readonly Limit[],
  warnedOf?: readonly string[],
): Plan<AcceptanceEnd> {
  if (read("turn", request.id) !== undefined) return { value: { kind: "known" } };
  const asked = askedId(request);
  if (warnedOf !== undefined) {
    const isOfThread = request.from === "shortcut";
    const now = deps.clock.now();
    const running = isOfThread ? runningInThread(read, request) : sameRequest(now, read, request, asked);
    if (running === "offered") return { value: { kind: "known" } };
    if (running !== undefined && !warnedOf.includes(running.id)) {
      return { value: { kind: "asked-before", turn: running } };
    }
  }
  if (isAnswer(read, request)) return { value: { kind: "known" } };
  const turn = turnFor(deps, read, request, wanted);
  if (turn === undefined) return { value: { kind: "known" } };
  if ("kind" in turn) return { value: turn };
  const { writes, ...accepted } = accepting(deps, read, turn);
  return {
    ...accepted,
    writes: [...writes, ...askedWrites(request, asked)],
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
  { projects, followUps }: Pick<AcceptDeps, "projects" | "followUps">,
  read: Read,
  request: Request,
  wanted: WantedJob,
): Turn | undefined | MessageOf<"not-allowed"> {
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

/** For how long after a request other people who ask for the same are told of it. */
const TOLD_MS = 10 * 60_000;

/** Longer than Slack redelivers what was answered with that. */
const KEPT_MS = 2 * TOLD_MS;

/**
 * Finds another person's running turn for the same words in this channel within the last ten
 * minutes. `offered` means that the person was already told of it, and this is a redelivery. A
 * request in a thread, or with more than its words as far as its event says, never counts as the
 * same. Nothing is lost by one that does: the person chooses.
 */
function sameRequest(now: number, read: Read, request: Request, id: string | null) {
  const asked = id === null ? undefined : read("asked", id);
  if (asked === undefined) return undefined;
  if (read("reply", request.id) !== undefined) return "offered" as const;
  const turn = read("turn", asked.turnId);
  if (turn === undefined || turn.stage.name === "ended") return undefined;
  const isRecent = now - turn.request.receivedAt < TOLD_MS;
  // If its result goes to one person alone, nobody else can follow it.
  return isRecent && turn.request.userId !== request.userId && turn.delivery.away === null ? turn : undefined;
}

/** What to write with a request's turn so that {@link sameRequest} finds it. It holds no words. */
function askedWrites(request: Request, id: string | null): Write[] {
  return id === null
    ? []
    : [{ kind: "asked", id, record: { version: 1, turnId: request.id }, ttlMs: KEPT_MS }];
}

function askedId(request: Request): string | null {
  const { from, teamId, channelId, threadTs, messageTs, project, instructions } = request;
  const { files, beside } = request;
  if ((from !== "command" && from !== "mention") || isReply(threadTs, messageTs)) return null;
  if (files !== undefined || beside !== undefined) return null;
  const words = instructions.trim().toLowerCase().split(/\s+/).join(" ");
  const parts = JSON.stringify([teamId, channelId, projectKey(project), words]);
  // A channel's ids are neighbors, so writing them changes fewer pages of a file.
  return `${teamId}:${channelId}:${hash("sha256", parts, "base64url").slice(0, 22)}`;
}

/** How long a message's words are kept for its author to decide whether to send them. */
const REPLY_KEPT_MS = 24 * 60 * 60_000;

/** How long to keep such a reply from now on, milliseconds. */
export function keepReplyMs({ receivedAt }: Request, now: number): number {
  return Math.max(1, receivedAt + REPLY_KEPT_MS - now);
}

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
 * Asks the author of a request whether to start it although `same`, which asks for the same, is
 * running. It asks once, however often the request arrives.
 */
export function askingBeside(request: Request, same: Turn): Plan<void> {
  return askingOf({ version: 1, request, sameAs: { turnId: same.id } });
}

function askingOf(record: AppRecords["reply"]): Plan<void> {
  const { id } = record.request;
  const payload = { replyId: id } satisfies z.infer<typeof AskPayload>;
  return {
    writes: [{ kind: "reply", id, record, ttlMs: REPLY_KEPT_MS }],
    adds: [{ id: `ask:${id}`, type: "ask", payload }],
    value: undefined,
  };
}
