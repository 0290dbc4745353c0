import type { TaskDeps } from "../../rules/ports/deps.ts";
import type {
  Besides,
  JobService,
  JobServiceAnswer,
  JobServiceFault,
} from "../../rules/ports/job-service.ts";
import { knownLevel } from "../../rules/records.ts";
import { askedBy, keyOf, knownPrompt } from "../../rules/turn/submitting.ts";
import { deadlineOf, type Turn } from "../../rules/turn/turn.ts";
import type { TurnAct } from "../../../shared/contract/turn.ts";
import type { Attachment } from "../../../shared/contract/attachment.ts";
import type { KnownJob } from "../../rules/known-job.ts";
import type { Level } from "../../../shared/contract/level.ts";
import { backoffMs, heedRetryAfter, notAsked } from "../service-backoff.ts";
import type { Receiver } from "./find-target.ts";

/**
 * What a service speaks. `unsent` means that nothing is sent to it now: it told us to wait, or it
 * didn't say what it speaks but may soon. It is the answer to go on with, as if the call had failed
 * without an effect. `cannotAsk` means that the turn must change nothing, and the service can't
 * promise that.
 */
export type ServiceOffer = { level: Level; unsent?: JobServiceAnswer; cannotAsk?: true };

/** Finds out what the service speaks for a turn that is about to be sent for the first time. */
export async function findOffer(deps: TaskDeps, turn: Turn, receiver: Receiver): Promise<ServiceOffer> {
  const { project } = turn.request;
  const waitMs = await backoffMs(deps, project);
  if (waitMs > 0) return { level: 0, unsent: notAsked(waitMs) };
  const isOver = deps.clock.now() >= deadlineOf(turn, deps.polling);
  if (isOver || turn.stage.name !== "accepted") return { level: 0 };
  const { changesNothing = false } = turn.request;
  const offer = await offeredBy(receiver, changesNothing ? ASKS_FROM : 0);
  if (offer.unsent !== undefined) await heedRetryAfter(deps, project, offer.unsent);
  const cannotAsk = changesNothing && offer.unsent === undefined && offer.level < ASKS_FROM;
  return { ...offer, ...(cannotAsk && { cannotAsk }) };
}

/** An id that no job has. A service that was never called says in its answer what it speaks. */
const NO_JOB = "capabilities";

/** The level at which a service can be asked for an answer that changes nothing. */
const ASKS_FROM = 3;

/** A service that is known to speak less than `least` is asked again: it may be a newer version. */
async function offeredBy({ jobService, announced }: Receiver, least: Level): Promise<ServiceOffer> {
  const known = knownLevel(announced);
  if (known !== undefined && known >= least) return { level: known };
  const answer = await jobService.getJob(NO_JOB);
  if (answer.ok || !passes(answer.fault)) return { level: answer.level ?? 0 };
  return { level: 0, unsent: { ...answer, fault: { ...answer.fault, kind: "not-created" } } };
}

/** True if the fault passes. A 404 doesn't: a service that knows only the contract answers so. */
function passes({ kind, status }: JobServiceFault): boolean {
  if (kind !== "not-created" && kind !== "unknown") return false;
  return status === undefined || status === 429 || status >= 500;
}

/**
 * Sends a turn that was noted as being sent: a create, or a message to its job. If the service says
 * when to come back, nobody calls it before.
 */
export async function sendTurn(
  deps: TaskDeps,
  turn: Turn,
  { jobService }: Receiver,
  { job, prompt, attachments }: { job: KnownJob | null; prompt: string; attachments: Attachment[] },
): Promise<JobServiceAnswer> {
  const sent = knownPrompt(turn) ?? prompt;
  const { act, changesNothing = false } = turn.request;
  const besides = { attachments, ...askedBy(turn) };
  const answer =
    job !== null
      ? act === undefined
        ? await message(jobService, job.id, changesNothing, sent, keyOf(turn), besides)
        : await actOn(jobService, job.id, act, keyOf(turn), askedBy(turn))
      : changesNothing
        ? await jobService.ask(null, sent, keyOf(turn), besides)
        : await jobService.createJob(sent, keyOf(turn), besides);
  await heedRetryAfter(deps, turn.request.project, answer);
  return answer;
}

/** Asks for an act. "Missing" is then the job, and not only its pull request. */
async function actOn(
  jobService: JobService,
  jobId: string,
  act: TurnAct,
  key: string,
  { requester, authors }: Pick<Besides, "requester" | "authors">,
): Promise<JobServiceAnswer> {
  const people = { ...(requester && { requester }), ...(authors && { authors }) };
  const answer = await jobService.act(jobId, act, `${key}:${act}`, people);
  if (answer.ok || answer.fault.kind !== "missing") return answer;
  const seen = await jobService.getJob(jobId);
  const isGone = !seen.ok && seen.fault.kind === "missing";
  return isGone ? answer : { ...answer, fault: { ...answer.fault, kind: "rejected" } };
}

/** Statuses that a service may use to refuse a message to a closed job. */
const MAY_BE_CLOSED: ReadonlySet<number | undefined> = new Set([400, 409, 410, 422]);

/**
 * Sends a message, or a question. A refusal because the job is closed is treated as if there were
 * no such job.
 */
async function message(
  jobService: JobService,
  jobId: string,
  changesNothing: boolean,
  prompt: string,
  key: string,
  besides: Besides,
): Promise<JobServiceAnswer> {
  // The bare key is for a create that the service may get later.
  const answer = changesNothing
    ? await jobService.ask(jobId, prompt, `${key}:ask`, besides)
    : await jobService.sendMessage(jobId, prompt, `${key}:message`, besides);
  if (answer.ok || answer.fault.kind !== "rejected" || !MAY_BE_CLOSED.has(answer.fault.status)) return answer;
  const seen = await jobService.getJob(jobId);
  const isClosed = seen.ok ? seen.job.status === "archived" : seen.fault.kind === "missing";
  return isClosed ? { ...answer, fault: { ...answer.fault, kind: "missing" } } : answer;
}
