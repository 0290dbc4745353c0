import { changeRefusal } from "../rules/access.ts";
import { isPosted, STATUS_SLOT } from "../rules/turn/delivery.ts";
import { privatePlace, type Request } from "../rules/turn/request.ts";
import {
  DocsAgentError,
  LimitReachedError,
  isStoreAnswerLost,
  isStoreUnconfirmed,
  messageOf,
} from "../../shared/errors.ts";
import {
  maybeKeptMessage,
  notKeptMessage,
  notTakenMessage,
  onOneMachineMessage,
} from "../messages/private-messages.ts";
import type { Rendered } from "../messages/blocks.ts";
import { whyRefused } from "./access.ts";
import { acceptance, type WantedJob, askingBeside } from "../rules/decisions/accept.ts";
import { within } from "../../shared/machine/ports.ts";
import type { Asker } from "../rules/thread/same-request.ts";
import type { Accepted, IntakeDeps } from "./deps.ts";
import type { Limit } from "../../shared/store/rate-limiter.ts";

const HOUR_MS = 60 * 60_000;

/** Time after which a person begins to wonder and sends the request again. */
const SILENCE_MS = 3_000;

/** A request may have been stored, because the store didn't answer. */
class MaybeKeptError extends DocsAgentError {
  readonly code = "maybe_kept";
}

/** What is written is on too few machines, so the request wasn't stored. */
class NotTakenError extends DocsAgentError {
  readonly code = "not_taken";
}

/** The message for the requester when {@link acceptRequest} has rejected with this error. */
export function notAcceptedMessage(thrown: unknown, { contact }: Pick<IntakeDeps, "contact">): Rendered {
  return (
    tooFewMachinesMessage(thrown, contact) ??
    (thrown instanceof MaybeKeptError ? maybeKeptMessage : notKeptMessage)
  );
}

/** Throws if what is written now would be on too few machines, so that nothing new is taken. */
export function assertStoreSafe({ isStoreUnsafe }: Pick<IntakeDeps, "isStoreUnsafe">): void {
  if (!isStoreUnsafe()) return;
  throw new NotTakenError("A request wasn't taken, because it would be stored on too few machines.");
}

/**
 * Resolves once a request that is known is on as many machines as a new one. Otherwise Slack would
 * stop sending it again although it may still be lost.
 */
export function confirmKnown({ queue }: Pick<IntakeDeps, "queue">): Promise<void> {
  return queue.commit(() => ({ value: undefined }));
}

/** Tells that something is kept on too few machines, or isn't taken for that; null otherwise. */
export function tooFewMachinesMessage(thrown: unknown, contact: string): Rendered | null {
  if (isStoreUnconfirmed(thrown)) return onOneMachineMessage;
  return thrown instanceof NotTakenError ? notTakenMessage(contact) : null;
}

/**
 * Accepts a request durably, within the limits of its person and channel. Rejects if it can't be
 * stored, may not have been, or is on too few machines. If Slack delivers it twice at the same
 * time, it is accepted and counted once. If Slack doesn't say in time whether the person may use
 * the app, the request is accepted but goes no further until that is known (`tasks/submit.ts`).
 * With `warnedOf`, it is first checked whether the person was told of all who asked for the same
 * ({@link acceptance}).
 */
export async function acceptRequest(
  deps: IntakeDeps,
  request: Request,
  wanted: WantedJob = "own-job",
  warnedOf?: readonly string[],
): Promise<Accepted> {
  const first = deps.accepting.get(request.id);
  if (first !== undefined) {
    const accepted = await first;
    return accepted.kind === "accepted" ? { kind: "known" } : accepted;
  }
  const accepting = accept(deps, request, wanted, warnedOf);
  deps.accepting.set(request.id, accepting);
  try {
    return await accepting;
  } finally {
    deps.accepting.delete(request.id);
  }
}

/**
 * Like {@link acceptRequest}, but if somebody asked for the same, and that turn runs or its pull
 * request is open, the request is only kept, and the person is asked privately what to do.
 */
export async function acceptOrAsk(deps: IntakeDeps, request: Request, wanted?: WantedJob): Promise<Accepted> {
  const accepted = await acceptRequest(deps, request, wanted, []);
  if (accepted.kind === "asked-before") {
    await deps.queue.commit(() => askingBeside(request, accepted));
  }
  return accepted;
}

async function accept(
  deps: IntakeDeps,
  asked: Request,
  wanted: WantedJob,
  warnedOf: readonly string[] | undefined,
): Promise<Accepted> {
  const refusal =
    (await whyRefused(deps, asked)) ??
    // It has no words that could be a question.
    (asked.act === undefined ? null : changeRefusal(deps.access, asked.channelId));
  if (refusal !== null && refusal.kind !== "unchecked") return { kind: "refused", refusal };
  assertStoreSafe(deps);
  // This must be about the current requester: a retry copies another person's request.
  const { isAdmitted: _, ...rest } = asked;
  const request: Request = refusal === null ? { ...rest, isAdmitted: true } : rest;
  const { perPerson, perChannel } = deps.limits;
  const { teamId, userId, channelId } = request;
  const person: Limit = { gate: `person:${teamId}:${userId}`, limit: perPerson, windowMs: HOUR_MS };
  const channel: Limit = { gate: `channel:${teamId}:${channelId}`, limit: perChannel, windowMs: HOUR_MS };
  const limits = [person, channel].filter(({ limit }) => limit > 0);
  const commit = (asker?: Asker) =>
    deps.queue.commit((read) => acceptance(deps, read, request, wanted, limits, asker));
  try {
    const first = await commit(warnedOf && { warnedOf });
    const isElsewhere = first.kind === "elsewhere" && warnedOf !== undefined;
    const accepted = isElsewhere
      ? await commit({ warnedOf, channels: await channelsOf(deps, userId) })
      : first;
    if (accepted.kind !== "accepted") return accepted;
  } catch (thrown) {
    if (isStoreUnconfirmed(thrown)) throw thrown;
    if (isStoreAnswerLost(thrown)) throw new MaybeKeptError(thrown.message, { cause: thrown });
    if (!(thrown instanceof LimitReachedError)) throw thrown;
    const scope = thrown.gate === person.gate ? "person" : "channel";
    const { limit } = scope === "person" ? person : channel;
    return { kind: "refused", refusal: { kind: "too-many", scope, limit, againAtMs: thrown.againAtMs } };
  }
  reassureLater(deps, request);
  return { kind: "accepted" };
}

/** How long a request waits to hear which channels its person is in. */
const CHANNELS_WITHIN_MS = 1_000;

/** The channels that a person is in, as far as Slack says so in time. */
export async function channelsOf(
  { clock, memberships }: Pick<IntakeDeps, "clock" | "memberships">,
  userId: string,
): Promise<ReadonlySet<string>> {
  const none = { channels: new Set<string>() };
  return (await within(clock, CHANNELS_WITHIN_MS, memberships.channelsOf(userId), none)).channels;
}

/**
 * Tells the person privately that a request is saved, if nothing of it is visible after a while.
 * Only the process that accepted it does so: after a restart the status message is on its way
 * anyway.
 */
function reassureLater(deps: IntakeDeps, request: Request): void {
  const { userId, responseUrl } = request;
  const notSaid = (error: string) =>
    deps.logger.warn({ turn: request.id, error }, "could not say that a request is kept");
  deps.clock.wakeAt(deps.clock.now() + SILENCE_MS, () => {
    reassure().catch((thrown: unknown) => notSaid(messageOf(thrown)));
  });

  async function reassure(): Promise<void> {
    if (deps.reassured.delete(request.id)) return;
    const turn = await deps.records.get("turn", request.id);
    if (turn === undefined) return;
    const { statusOf, shown } = turn.delivery;
    const isVisible = statusOf === undefined ? isPosted(turn.delivery, STATUS_SLOT) : shown !== null;
    if (isVisible) return;
    const place = privatePlace(request);
    const reply = await deps.notifier.replyPrivately({ place, userId, responseUrl }, { kind: "kept" });
    if (!reply.ok) notSaid(reply.fault.error);
  }
}
