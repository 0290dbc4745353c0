import type { TaskDeps } from "../../rules/ports/deps.ts";
import { faultForLog, type JobServiceAnswer } from "../../rules/ports/job-service.ts";
import { knownLevel, type ServiceRecord, type Step, threadIdOf, type Write } from "../../rules/records.ts";
import { AFTER_STORE_FAULT_MS } from "../../rules/retry.ts";
import { feedTasks } from "../../rules/decisions/new-tasks.ts";
import { turnNow, turnWrites } from "../../rules/decisions/turn-writes.ts";
import {
  afterSubmit,
  type Along,
  beforeSubmit,
  notSubmitted,
  withAlong,
} from "../../rules/turn/submitting.ts";
import type { Turn, TurnFiles } from "../../rules/turn/turn.ts";
import { sentJobAppend } from "../../rules/turn/watching.ts";
import type { KnownJob } from "../../rules/known-job.ts";
import { saidByService } from "../../../shared/contract/level.ts";
import { isStoreAnswerLost, isStoreUnconfirmed } from "../../../shared/errors.ts";
import type { Task, TaskEnd } from "../../../shared/queue/task-queue.ts";
import { endSubmit } from "./end-submit.ts";
import type { Receiver } from "./find-target.ts";

/** A create that was forgotten would be sent again: it costs money and opens a pull request. */
const MUST_BE_CONFIRMED = { mustBeConfirmed: true };
/** Time until a call is tried again whose note is on too few machines. */
const UNCONFIRMED_AGAIN_MS = 5_000;

/** What a call says, and whether it may be repeated under its key. */
type Said = Pick<Parameters<typeof beforeSubmit>[1], "prompt" | "requester" | "authors" | "honorsKeys">;

/**
 * A turn as it was noted before the call. `asNoted` is that note for the turn's state after the
 * call.
 */
type Noted = { turn: Turn; asNoted: (turn: Turn) => Turn };

/**
 * Stores that the call is being made, and all that it says. `step` ends the run without a call:
 * the turn may not be sent any more, or what was read has changed, or it isn't known whether this
 * was stored.
 */
export async function noteSending(
  deps: TaskDeps,
  known: Turn,
  { along, files }: { along: Along; files: TurnFiles | undefined },
  said: Said,
): Promise<Noted | { step: Step }> {
  const sending = { now: deps.clock.now(), policy: deps.polling, appId: deps.directory.appId(), ...said };
  const place = threadIdOf(known.request);
  let noted: Turn | null;
  try {
    noted = await deps.commit((read) => {
      // Somebody unchecked a message of this thread meanwhile, so what is to be sent is read again.
      const withheldNow = place === null ? undefined : read("withheld", place)?.messages;
      const isChanged = (withheldNow ?? []).length !== along.withheld.length;
      if (known.stage.name === "accepted" && isChanged) return { value: null };
      const turn = withAlong(turnNow(read, known.id), along, files);
      const next = beforeSubmit(turn.stage.name === "accepted" ? asAdmitted(turn) : turn, sending);
      return { writes: next.stage.name === "submitting" ? turnWrites(deps, read, next) : [], value: next };
    }, MUST_BE_CONFIRMED);
  } catch (thrown) {
    if (!isStoreAnswerLost(thrown)) throw thrown;
    const now = deps.clock.now();
    // Nothing was sent. With too few standbys it waits, however long that takes.
    const value: TaskEnd = isStoreUnconfirmed(thrown)
      ? { kind: "wait", dueAt: now + UNCONFIRMED_AGAIN_MS }
      : { kind: "retry", dueAt: now + AFTER_STORE_FAULT_MS, reason: thrown.message };
    return { step: endSubmit(deps, known.id, (turn) => notSubmitted(turn, known), { value }) };
  }
  if (noted === null) return { step: { kind: "wait", dueAt: deps.clock.now() } };
  const { stage } = noted;
  // Decided again on the turn's state at that time, to keep what was posted for it in between.
  if (stage.name !== "submitting") {
    return { step: endSubmit(deps, known.id, (turn) => beforeSubmit(turn, sending)) };
  }
  // Redis may have lost its last second, and with it that the turn was being sent.
  const asNoted = (turn: Turn): Turn =>
    turn.stage.name === "accepted" ? { ...asAdmitted(withAlong(turn, along, files)), stage } : turn;
  return { turn: noted, asNoted };
}

/** Keeps the answer, so that Slack isn't asked again if the service is away for long. */
function asAdmitted(turn: Turn): Turn {
  return { ...turn, request: { ...turn.request, isAdmitted: true } };
}

/** Decides what the answer to the call means for the turn, and when it is sent again. */
export function settle(
  deps: TaskDeps,
  { attempt }: Task,
  { turn, asNoted }: Noted,
  { answer, receiver, job }: { answer: JobServiceAnswer; receiver: Receiver; job: KnownJob | null },
): Step {
  const call = job === null ? "create" : "message";
  if (answer.ok) deps.logger.info({ job_id: answer.job.id }, `${call} is taken`);
  else deps.logger.warn({ fault: faultForLog(answer.fault) }, `${call} did not succeed`);
  const at = {
    now: deps.clock.now(),
    attempt,
    random: deps.random(),
    policy: deps.polling,
    honorsKeys: receiver.honorsKeys || answer.honorsIdempotencyKeys,
    ...(job === null ? {} : { before: job }),
  };
  const { afterMs } = afterSubmit(turn, answer, at);
  const reason = "the job service did not take the request";
  const value: TaskEnd =
    afterMs === null ? { kind: "done" } : { kind: "retry", dueAt: at.now + afterMs, reason };
  const { project } = turn.request;
  const adds = feedTasks(project, receiver.service, answer);
  // If the feed breaks off, the job is found by this.
  const appends = adds.length > 0 && answer.ok ? [sentJobAppend(project, answer.job.id, deps.polling)] : [];
  const more = { writes: announcementWrites(receiver, answer), adds, appends, value };
  return endSubmit(deps, turn.id, (now) => afterSubmit(asNoted(now), answer, at).turn, more);
}

/** What to write if the service announces something new about itself. */
function announcementWrites(
  { service, announced: known }: Pick<Receiver, "service" | "announced">,
  answer: JobServiceAnswer,
): Write[] {
  const honoredKeys = known?.honorsIdempotencyKeys ?? false;
  // Only the service's own answer can say that it no longer honors them.
  const honorsKeys = answer.honorsIdempotencyKeys || (!answer.ok && honoredKeys);
  const level = answer.ok ? (answer.level ?? 0) : knownLevel(known);
  if (honorsKeys === honoredKeys && level === knownLevel(known)) return [];
  const record: ServiceRecord = {
    ...known,
    version: 1,
    honorsIdempotencyKeys: honorsKeys,
    ...(level === undefined ? {} : { capabilities: [...saidByService(level)] }),
  };
  return [{ kind: "service", id: service, record }];
}
