import type { JobService } from "../../rules/ports/job-service.ts";
import type { TaskDeps } from "../../rules/ports/deps.ts";
import type { ServiceRecord, Step } from "../../rules/records.ts";
import { asNewJob, beforeSubmit, refuseTurn } from "../../rules/turn/submitting.ts";
import { deadlineOf, endTurn, isFollowUp, type Turn } from "../../rules/turn/turn.ts";
import type { KnownJob } from "../../rules/known-job.ts";
import type { Task } from "../../../shared/queue/task-queue.ts";
import { retryLater } from "../service-backoff.ts";
import { endSubmit } from "./end-submit.ts";

/**
 * Ends or holds back the turn of a person who may not use the app, or about whom Slack can't say
 * yet, so that nothing of theirs leaves Slack. Null if they may use it.
 */
export async function holdUnlessAdmitted(deps: TaskDeps, task: Task, turn: Turn): Promise<Step | null> {
  const { stage, request } = turn;
  if (stage.name !== "accepted" || request.isAdmitted === true) return null;
  const admission = await deps.directory.admission(request.userId);
  if (admission === "admitted") return null;
  const now = deps.clock.now();
  if (admission === "unchecked" && now < deadlineOf(turn, deps.polling)) {
    return retryLater(deps, task.attempt, "Slack doesn't say whether this is a member");
  }
  return endSubmit(deps, turn.id, (current) =>
    current.stage.name === "accepted" ? refuseTurn(current, admission, now) : current,
  );
}

/** The job that a turn is sent to. It is null if one is to be created. */
export type Target = {
  job: KnownJob | null;
  /** True if an earlier attempt may have gone to a job that isn't known any more. */
  isJobGone: boolean;
};

/**
 * Finds the job that the turn goes to. `step` ends the run if there is nothing to send now: the
 * turn was sent or has ended, or it waits for the one before it, or it becomes a create.
 */
export async function findTarget(deps: TaskDeps, turn: Turn): Promise<Target | { step: Step }> {
  const isFirst = turn.stage.name === "accepted";
  if (!isFirst && turn.stage.name !== "submitting") return { step: endSubmit(deps, turn.id, (now) => now) };
  const followed = await followedTurn(deps, turn);
  if (followed === undefined) return { job: null, isJobGone: false };
  if (followed === "pending") {
    return { step: { kind: "wait", dueAt: deps.clock.now() + CHECK_AGAIN_AFTER_MS } };
  }
  if (followed !== "none") return { ...followed, isJobGone: false };
  if (!isFirst) return { job: null, isJobGone: true };
  const step = endSubmit(deps, turn.id, (now) => {
    if (!isFollowUp(now) || now.stage.name !== "accepted") return now;
    // There is nothing that a new job could act on.
    return now.request.act === undefined ? asNewJob(now) : endTurn(now, "missing", deps.clock.now());
  });
  return { step };
}

/**
 * The job a follow-up goes to: that of the turn it follows or, if that turn never got a job, of the
 * one before. `pending` means that the turn hasn't been sent yet, and `none` that there is no such
 * job. Undefined if this isn't a follow-up.
 */
async function followedTurn(
  { records }: Pick<TaskDeps, "records">,
  turn: Turn,
): Promise<{ job: KnownJob } | "pending" | "none" | undefined> {
  let { follows } = turn.request;
  if (follows === undefined) return undefined;
  while (follows !== undefined) {
    const followed: Turn | undefined = await records.get("turn", follows.turnId);
    if (followed === undefined) return "none";
    if (followed.job !== null) return { job: followed.job };
    if (followed.stage.name !== "ended") return "pending";
    follows = followed.request.follows;
  }
  return "none";
}

/**
 * A waiting follow-up is notified when its time comes. It looks by itself only in case that was
 * lost.
 */
const CHECK_AGAIN_AFTER_MS = 60_000;

/** The job service that a turn is sent to, and what is known of it before the call. */
export type Receiver = {
  /** Its current address. */
  service: string;
  jobService: JobService;
  /** What it announced in earlier answers. */
  announced: ServiceRecord | undefined;
  /** True if the same call may be sent again under its key. */
  honorsKeys: boolean;
};

/**
 * Finds the service that takes the turn. `step` ends the run because the turn's project is no
 * longer configured.
 */
export async function findReceiver(
  deps: TaskDeps,
  turn: Turn,
  { isJobGone }: Target,
): Promise<Receiver | { step: Step }> {
  const { request, stage } = turn;
  const configured = deps.jobServices.of(request.project);
  if (configured === undefined) return { step: notConfigured(deps, turn) };
  const { service, jobService } = configured;
  const announced = await deps.records.get("service", service);
  // A service at another address doesn't know the key of an earlier create.
  const isSentElsewhere = stage.name === "submitting" && service !== request.project.service;
  const honorsKeys =
    !isSentElsewhere &&
    !isJobGone &&
    (jobService.honorsIdempotencyKeys === true || announced?.honorsIdempotencyKeys === true);
  return { service, jobService, announced, honorsKeys };
}

/** Ends the turn because nobody can send it. It stays unknown if an earlier attempt has arrived. */
function notConfigured(deps: TaskDeps, { id, request }: Turn): Step {
  deps.logger.error({ project: request.project.name }, "the project of this request is no longer configured");
  const now = deps.clock.now();
  return endSubmit(deps, id, (turn) =>
    turn.stage.name === "accepted"
      ? endTurn(turn, "rejected", now, { reason: "project" })
      : beforeSubmit(turn, { now, policy: deps.polling, honorsKeys: false, prompt: "" }),
  );
}
