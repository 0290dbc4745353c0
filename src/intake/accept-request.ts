import { STATUS_SLOT } from "../core/delivery.ts";
import type { Refusal } from "../core/notifier.ts";
import type { Request } from "../core/request.ts";
import { DocsAgentError, isStoreAnswerLost, messageOf } from "../errors.ts";
import { maybeKeptMessage, notKeptMessage } from "../replies/private-messages.ts";
import type { Rendered } from "../replies/blocks.ts";
import { acceptance } from "../tasks/accept.ts";
import type { Accepted, IntakeDeps } from "./deps.ts";

const HOUR_MS = 60 * 60_000;
/** After this long a person wonders, and sends again. */
const SILENCE_MS = 3_000;

/** A request may have been stored: the store did not answer. */
class MaybeKeptError extends DocsAgentError {
  readonly code = "maybe_kept";
}

/** What to say to whoever asked, when {@link acceptRequest} has rejected with this. */
export function notAcceptedMessage(thrown: unknown): Rendered {
  return thrown instanceof MaybeKeptError ? maybeKeptMessage() : notKeptMessage();
}

/**
 * Accepts a request durably, within the limits of its person and channel. Rejects when it cannot be stored, or may not
 * have been. What Slack delivers twice
 * at the same time is taken once, and counted once.
 */
export async function acceptRequest(deps: IntakeDeps, request: Request): Promise<Accepted> {
  const first = deps.accepting.get(request.id);
  if (first !== undefined) {
    const accepted = await first;
    return accepted.kind === "accepted" ? { kind: "known" } : accepted;
  }
  const accepting = accept(deps, request);
  deps.accepting.set(request.id, accepting);
  try {
    return await accepting;
  } finally {
    deps.accepting.delete(request.id);
  }
}

async function accept(deps: IntakeDeps, request: Request): Promise<Accepted> {
  const refusal = await overLimit(deps, request);
  if (refusal !== null) {
    return (await isKnown(deps, request)) ? { kind: "known" } : { kind: "refused", refusal };
  }
  const isNew = await deps.queue
    .commit((read) => acceptance(deps, read, request))
    .catch((thrown: unknown) => {
      // Whoever asked waits for an answer, and a store that is away would hold this up, too.
      giveBack(deps, request).catch(() => {});
      throw isStoreAnswerLost(thrown) ? new MaybeKeptError(thrown.message, { cause: thrown }) : thrown;
    });
  if (!isNew) {
    // A redelivery takes nothing from anybody's limit.
    await giveBack(deps, request);
    return { kind: "known" };
  }
  reassureLater(deps, request);
  return { kind: "accepted" };
}

async function isKnown({ queue }: Pick<IntakeDeps, "queue">, { id }: Request): Promise<boolean> {
  return queue.commit((read) => ({ value: read("turn", id) !== undefined }));
}

/** Why one more request of that person, or in that channel, is too many now; null: it is not, and counts. */
async function overLimit(
  { slots, limits }: Pick<IntakeDeps, "slots" | "limits">,
  request: Request,
): Promise<Refusal | null> {
  const { perPerson, perChannel } = limits;
  const [person, channel] = await Promise.all([
    perPerson > 0 ? slots.take(personGate(request), perPerson, HOUR_MS) : null,
    perChannel > 0 ? slots.take(channelGate(request), perChannel, HOUR_MS) : null,
  ]);
  if (person === null && channel === null) return null;
  // What the other one let through doesn't count.
  if (person === null && perPerson > 0) await slots.giveBack(personGate(request), perPerson, HOUR_MS);
  if (channel === null && perChannel > 0) await slots.giveBack(channelGate(request), perChannel, HOUR_MS);
  if (person !== null) return { kind: "too-many", scope: "person", limit: perPerson, againAtMs: person };
  return channel === null
    ? null
    : { kind: "too-many", scope: "channel", limit: perChannel, againAtMs: channel };
}

async function giveBack({ slots, limits }: IntakeDeps, request: Request): Promise<void> {
  if (limits.perPerson > 0) await slots.giveBack(personGate(request), limits.perPerson, HOUR_MS);
  if (limits.perChannel > 0) await slots.giveBack(channelGate(request), limits.perChannel, HOUR_MS);
}

function personGate({ teamId, userId }: Request): string {
  return `person:${teamId}:${userId}`;
}

function channelGate({ teamId, channelId }: Request): string {
  return `channel:${teamId}:${channelId}`;
}

/**
 * Says privately that a request is kept, if nothing of it is to be seen after a while. Of the process that took it alone: after a
 * restart the status message is on its way anyway.
 */
function reassureLater(deps: IntakeDeps, request: Request): void {
  const { teamId, channelId, threadTs, userId, responseUrl } = request;
  deps.clock.wakeAt(deps.clock.now() + SILENCE_MS, () => {
    reassure().catch((thrown: unknown) => {
      deps.logger.warn(
        { turn: request.id, error: messageOf(thrown) },
        "could not say that a request is kept",
      );
    });
  });

  async function reassure(): Promise<void> {
    const turn = await deps.records.turn.get(request.id);
    const slot = turn?.delivery.slots[STATUS_SLOT];
    if (turn === undefined || (slot !== undefined && slot.ts !== null)) return;
    const place = { teamId, channelId, threadTs };
    const told = await deps.notifier.replyPrivately({ place, userId, responseUrl }, { kind: "kept" });
    if (!told.ok) {
      deps.logger.warn({ turn: request.id, error: told.fault.error }, "could not say that a request is kept");
    }
  }
}
