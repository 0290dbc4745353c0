import type { Request } from "../rules/turn/request.ts";
import type { AddValue } from "../messages/actions.ts";
import { refusalText } from "../messages/refusal-message.ts";
import {
  ADDED,
  NOT_YOURS,
  REPLY_NOT_KEPT,
  STARTED_AFTER_CLOSE,
  STARTED_AFTER_MERGE,
  STARTED_ANEW,
} from "../messages/short-answers.ts";
import { acceptRequest, notAcceptedMessage } from "./accept-request.ts";
import type { IntakeDeps } from "./deps.ts";
import { keptReply } from "./thread-reply.ts";

type Added = { isTaken: boolean; text: string };

/**
 * Adds a request to the pull request of a turn, and says what became of it. Pressing twice adds it
 * once.
 */
export async function addTo(deps: IntakeDeps, request: Request, turnId: string): Promise<Added> {
  const accepted = await acceptRequest(deps, request, { addTo: turnId });
  if (accepted.kind === "not-allowed") return { isTaken: false, text: NOT_YOURS };
  if (accepted.kind === "refused") return { isTaken: false, text: refusalText(accepted.refusal) };
  const turn = await deps.records.get("turn", request.id);
  if (turn?.request.follows !== undefined) return { isTaken: true, text: ADDED };
  const state = (await deps.records.get("turn", turnId))?.pullRequest?.latest.state;
  const ended = { merged: STARTED_AFTER_MERGE, closed: STARTED_AFTER_CLOSE, open: STARTED_ANEW };
  return { isTaken: true, text: ended[state ?? "open"] };
}

/** Adds the kept request that a button belongs to. If it isn't taken, the button still works. */
export async function addReply(deps: IntakeDeps, value: AddValue | null, userId: string): Promise<Added> {
  try {
    const reply = await keptReply(deps, value?.replyId, userId);
    if (value === null || reply === undefined) return { isTaken: true, text: REPLY_NOT_KEPT };
    const request = { ...reply.request, receivedAt: deps.clock.now() };
    return await addTo(deps, request, value.turnId);
  } catch (thrown) {
    deps.logger.error({ err: thrown }, "could not accept a reply");
    return { isTaken: false, text: notAcceptedMessage(thrown, deps).text };
  }
}
