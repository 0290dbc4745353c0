import {
  faultForLog,
  type Besides,
  type JobService,
  type JobServiceAnswer,
  type JobServiceFault,
} from "../rules/ports/job-service.ts";
import { composePrompt } from "../rules/words/prompt.ts";
import { sentJobAppend } from "../rules/turn/watching.ts";
import { AFTER_STORE_FAULT_MS } from "../rules/retry.ts";
import type { Task, TaskEnd } from "../../shared/queue/task-queue.ts";
import {
  afterSubmit,
  askedBy,
  beforeSubmit,
  keyOf,
  knownPrompt,
  notSubmitted,
  asNewJob,
  refuseTurn,
  withAlong,
} from "../rules/turn/submitting.ts";
import { deadlineOf, endTurn, isFollowUp, turnPrLink, type Turn } from "../rules/turn/turn.ts";
import { isStoreAnswerLost } from "../../shared/errors.ts";
import { type Plan, type ServiceRecord, type Step, type Write, threadIdOf } from "../rules/records.ts";
import { changesOf, readTurnTask, turnNow, turnWrites } from "../rules/decisions/turn-writes.ts";
import { cancelTask, feedTasks, submitTask, watchTask } from "../rules/decisions/new-tasks.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import { namesOfRequest, requesterOf, withheldIn } from "../gather/gather-context.ts";
import { filesOfRequest, readAlong } from "../gather/gather-files.ts";
import { closedForMs, heedRetryAfter, notAsked, retryLater } from "./service-backoff.ts";
import { TurnPayload } from "../rules/decisions/payload.ts";
import type { Job } from "../../shared/contract/job.ts";

/**
 * Creates the job or sends it a message, at most once per turn. That the call is being made is
 * stored first. A run that finds this without an answer repeats the call only if the service honors
 * idempotency keys; otherwise it ends the turn as `unknown`. The answer is stored before anyone is
 * told. A follow-up waits for its job and for the messages before it; if there is no job to wait
 * for, it becomes a create.
 */
export async function submit(deps: TaskDeps, given: Task): Promise<Step> {
  const { task, turn: known } = await readTurnTask(deps, TurnPayload, given);
  const turnId = known.id;
  const heldBack = await holdUnlessAdmitted(deps, task, known);
  if (heldBack !== null) return heldBack;
  const isUnsent = known.stage.name === "accepted" || known.stage.name === "submitting";
  const followed = isUnsent ? await followedTurn(deps, known) : undefined;
  if (followed === "pending") return { kind: "wait", dueAt: deps.clock.now() + CHECK_AGAIN_AFTER_MS };
  if (followed === "none" && known.stage.name === "accepted") {
    return endSubmit(deps, turnId, (turn) =>
      isFollowUp(turn) && turn.stage.name === "accepted" ? asNewJob(turn) : turn,
    );
  }
  const job = typeof followed === "object" ? followed.job : null;
  const isFirst = known.stage.name === "accepted";
  const withheld = isFirst ? await withheldIn(deps, known.request) : [];
  const read = isFirst
    ? await readAlong(deps, known, { job, withheld }, task.payload)
    : { along: { context: undefined, withheld }, looked: new Map() };
  if ("wait" in read) return read.wait;
  const { along, looked } = read;
  const withContext = withAlong(known, along);
  const { request } = withContext;
  const configured = deps.jobServices.of(request.project);
  if (configured === undefined) return notConfigured(deps, known);
  const { service, jobService } = configured;
  const announced = await deps.records.get("service", service);
  // A service at another address doesn't know the key of an earlier create.
  const isSentElsewhere = known.stage.name === "submitting" && service !== request.project.service;
  const isRepeatable = !isSentElsewhere && followed !== "none";
  const honoredKeys =
    isRepeatable && (jobService.honorsIdempotencyKeys === true || announced?.honorsIdempotencyKeys === true);
  const kept = knownPrompt(withContext);
  const { prompt, quoted } =
    kept === null
      ? composePrompt(request, await namesOfRequest(deps, request))
      : { prompt: kept, quoted: [] };

  const waitMs = await closedForMs(deps, request.project);
  const nothing = { files: undefined, attachments: [] };
  // If nothing is sent anymore, nothing has to be fetched.
  const isOver = waitMs > 0 || !isUnsent || deps.clock.now() >= deadlineOf(known, deps.polling);
  const { offered, silent } = isOver || !isFirst ? NO_OFFER : await offeredBy(jobService, announced);
  const requester = offered.includes("requester") ? await requesterOf(deps, known) : undefined;
  const authors = offered.includes("authors") ? { requester: request.userId, quoted } : undefined;
  const went =
    isOver || silent !== undefined
      ? nothing
      : await filesOfRequest(deps, withContext, { offered, looked }, task.payload);
  if (went === "gone") {
    const dueAt = deps.clock.now() + FILES_AGAIN_AFTER_MS;
    return { kind: "retry", dueAt, reason: "a file that was sent can't be had again" };
  }
  // What was read is kept, so that Slack is asked for the files alone.
  if ("wait" in went) return endSubmit(deps, turnId, (turn) => withAlong(turn, along), { value: went.wait });

  const what = { prompt, requester, authors, appId: deps.directory.appId() };
  const sending = { now: deps.clock.now(), policy: deps.polling, honorsKeys: honoredKeys, ...what };
  const place = threadIdOf(request);
  let before: Turn | null;
  try {
    before = await deps.commit((read) => {
      // Somebody unchecked a message of this thread meanwhile, so what is to be sent is read again.
      const withheldNow = place === null ? undefined : read("withheld", place)?.messages;
      if (isFirst && (withheldNow ?? []).length !== withheld.length) return { value: null };
      const turn = withAlong(turnNow(read, turnId), along, went.files);
      const next = beforeSubmit(turn.stage.name === "accepted" ? asAdmitted(turn) : turn, sending);
      return { writes: next.stage.name === "submitting" ? turnWrites(deps, read, next) : [], value: next };
    });
  } catch (thrown) {
    if (!isStoreAnswerLost(thrown)) throw thrown;
    const dueAt = deps.clock.now() + AFTER_STORE_FAULT_MS;
    const value = { kind: "retry", dueAt, reason: thrown.message } as const;
    return endSubmit(deps, turnId, (turn) => notSubmitted(turn, known), { value });
  }
  if (before === null) return { kind: "wait", dueAt: deps.clock.now() };
  // Decided again on the turn's state at that time, to keep what was posted for it in between.
  if (before.stage.name !== "submitting") {
    return endSubmit(deps, turnId, (turn) => beforeSubmit(turn, sending));
  }

  const { stage } = before;
  // Redis may have lost its last second, and with it that the turn was being sent.
  const asSent = (turn: Turn): Turn =>
    turn.stage.name === "accepted" ? { ...asAdmitted(withAlong(turn, along, went.files)), stage } : turn;

  deps.assertHeld();
  const sent = knownPrompt(before) ?? prompt;
  const besides = { attachments: went.attachments, ...askedBy(before) };
  const unsent = waitMs > 0 ? notAsked(waitMs) : silent;
  const answer =
    unsent ??
    (job === null
      ? await jobService.createJob(sent, keyOf(before), besides)
      : await message(jobService, job.id, sent, keyOf(before), besides));
  if (waitMs === 0) await heedRetryAfter(deps, request.project, answer);
  const call = job === null ? "create" : "message";
  if (answer.ok) deps.logger.info({ job_id: answer.job.id }, `${call} is taken`);
  else deps.logger.warn({ fault: faultForLog(answer.fault) }, `${call} did not succeed`);
  const honorsKeys = honoredKeys || answer.honorsIdempotencyKeys;
  const at = {
    now: deps.clock.now(),
    attempt: task.attempt,
    random: deps.random(),
    policy: deps.polling,
    honorsKeys,
    ...(job === null ? {} : { before: job }),
  };
  const { afterMs } = afterSubmit(before, answer, at);
  const reason = "the job service did not take the request";
  const value: TaskEnd =
    afterMs === null ? { kind: "done" } : { kind: "retry", dueAt: at.now + afterMs, reason };
  const writes = announcementWrites(service, announced, answer);
  const { project } = request;
  const adds = feedTasks(project, service, answer);
  // If the feed breaks off, the job is found by this.
  const appends = adds.length > 0 && answer.ok ? [sentJobAppend(project, answer.job.id, deps.polling)] : [];
  const more = { writes, adds, appends, value };
  return endSubmit(deps, turnId, (turn) => afterSubmit(asSent(turn), answer, at).turn, more);
}

/**
 * An id that no job has. A service that was never called announces in its answer what it offers.
 */
const NO_JOB = "capabilities";

/**
 * What a service offers. `silent` means that it didn't say but may soon. Until then nothing is
 * sent, as if it were away.
 */
type Offer = { offered: readonly string[]; silent?: JobServiceAnswer };

const NO_OFFER: Offer = { offered: [] };

async function offeredBy(jobService: JobService, announced: ServiceRecord | undefined): Promise<Offer> {
  if (announced?.capabilities !== undefined) return { offered: announced.capabilities };
  const answer = await jobService.getJob(NO_JOB);
  if (answer.ok || !passes(answer.fault)) return { offered: answer.capabilities ?? [] };
  return { offered: [], silent: { ...answer, fault: { ...answer.fault, kind: "not-created" } } };
}

/** True if the fault passes. A 404 doesn't: a service that knows only the contract answers so. */
function passes({ kind, status }: JobServiceFault): boolean {
  if (kind !== "not-created" && kind !== "unknown") return false;
  return status === undefined || status === 429 || status >= 500;
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

/** What to write if the service announces something new about itself. */
function announcementWrites(
  service: string,
  known: ServiceRecord | undefined,
  answer: JobServiceAnswer,
): Write[] {
  const honoredKeys = known?.honorsIdempotencyKeys ?? false;
  // Only the service's own answer can say that it no longer honors them.
  const honorsKeys = answer.honorsIdempotencyKeys || (!answer.ok && honoredKeys);
  const capabilities = answer.ok ? answer.capabilities : known?.capabilities;
  if (honorsKeys === honoredKeys && capabilities?.join() === known?.capabilities?.join()) return [];
  const record: ServiceRecord = {
    ...known,
    version: 1,
    honorsIdempotencyKeys: honorsKeys,
    ...(capabilities === undefined ? {} : { capabilities: [...capabilities] }),
  };
  return [{ kind: "service", id: service, record }];
}

/**
 * Ends or holds back the turn of a person who may not use the app, or about whom Slack can't say
 * yet, so that nothing of theirs leaves Slack. Null if they may use it.
 */
async function holdUnlessAdmitted(deps: TaskDeps, task: Task, turn: Turn): Promise<Step | null> {
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

/** Keeps the answer, so that Slack isn't asked again if the service is away for long. */
function asAdmitted(turn: Turn): Turn {
  return { ...turn, request: { ...turn.request, isAdmitted: true } };
}

/** Slack may be unavailable for a moment. */
const FILES_AGAIN_AFTER_MS = 30_000;

/**
 * A waiting follow-up is notified when its time comes. It looks by itself only in case that was
 * lost.
 */
const CHECK_AGAIN_AFTER_MS = 60_000;

/** Statuses that a service may use to refuse a message to a closed job. */
const MAY_BE_CLOSED: ReadonlySet<number | undefined> = new Set([400, 409, 410, 422]);

/** Sends a message. A refusal because the job is closed is treated as if there were no such job. */
async function message(
  jobService: JobService,
  jobId: string,
  prompt: string,
  key: string,
  besides: Besides,
): Promise<JobServiceAnswer> {
  // The bare key is for a create that the service may get later.
  const answer = await jobService.sendMessage(jobId, prompt, `${key}:message`, besides);
  if (answer.ok || answer.fault.kind !== "rejected" || !MAY_BE_CLOSED.has(answer.fault.status)) return answer;
  const seen = await jobService.getJob(jobId);
  const isClosed = seen.ok ? seen.job.status === "archived" : seen.fault.kind === "missing";
  return isClosed ? { ...answer, fault: { ...answer.fault, kind: "missing" } } : answer;
}

/**
 * Stores the turn's state after its create or message, and adds what follows from it. Unless `also`
 * says how the task ends, it is done.
 */
function endSubmit(
  deps: TaskDeps,
  turnId: string,
  change: (turn: Turn) => Turn,
  also: Partial<Plan<TaskEnd>> = {},
): Step {
  return (read) => {
    const turn = turnNow(read, turnId);
    const changed = change(turn);
    const changes = changesOf(deps, read, [changed]);
    const [next = changed] = changes.next;
    const { stage } = next;
    const isLinked = turnPrLink(next) !== null;
    const lookAt = deps.clock.now() + deps.polling.minMs;
    return {
      writes: [...(also.writes ?? []), ...changes.writes],
      appends: also.appends ?? [],
      adds: [
        ...(also.adds ?? []),
        ...(isFollowUp(turn) && !isFollowUp(next) && stage.name === "accepted" ? [submitTask(next)] : []),
        ...(stage.name === "watching" || isLinked ? [watchTask(next, lookAt, isLinked)] : []),
        ...(stage.name === "watching" && next.stop !== undefined ? [cancelTask(next)] : []),
        ...changes.adds,
      ],
      value: also.value ?? { kind: "done" },
    };
  };
}

/**
 * The job a follow-up goes to: that of the turn it follows or, if that turn never got a job, of the
 * one before. `pending` means that the turn hasn't been sent yet, and `none` that there is no such
 * job. Undefined if this isn't a follow-up.
 */
async function followedTurn(
  { records }: Pick<TaskDeps, "records">,
  turn: Turn,
): Promise<{ job: Job } | "pending" | "none" | undefined> {
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
