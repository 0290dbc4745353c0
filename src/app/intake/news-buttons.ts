import type { App, BlockAction } from "@slack/bolt";
import { type ActButton, actRequest, whyNot } from "../rules/thread/acting.ts";
import { maySteer, notAllowed } from "../rules/thread/people.ts";
import { actValue } from "../messages/actions.ts";
import { NEWS_BUTTONS } from "../messages/pull-request-messages.ts";
import { refusalText } from "../messages/private-messages.ts";
import { NOT_OPEN, ROUNDS_ARE_OVER } from "../messages/short-answers.ts";
import { acceptRequest } from "./accept-request.ts";
import type { IntakeDeps } from "./deps.ts";
import { alreadyDone, onPress, threadOfMessage, tooOld, type PressAnswer } from "./press.ts";

/**
 * The buttons under news of a pull request. A press is a follow-up request of the person who
 * pressed, and all presses about the same are one.
 */
export function registerNewsButtons(app: App, deps: IntakeDeps): void {
  for (const [actionId] of Object.values(NEWS_BUTTONS)) {
    onPress(app, deps, actionId, actValue, (pressed, body) => act(deps, pressed, body));
  }
}

async function act(deps: IntakeDeps, pressed: ActButton, body: BlockAction): Promise<PressAnswer> {
  const turn = await deps.records.get("turn", pressed.turnId);
  const { pullRequest } = turn ?? {};
  if (turn === undefined || pullRequest === undefined) return tooOld(deps);
  if (!maySteer(deps.followUps, turn, body.user.id)) return notAllowed(turn);
  const request = actRequest({ ...turn, pullRequest }, pressed, {
    channelId: body.channel?.id ?? turn.delivery.channelId,
    threadTs: threadOfMessage(body),
    userId: body.user.id,
    responseUrl: body.response_url ?? null,
    receivedAt: deps.clock.now(),
  });
  const before = await deps.records.get("turn", request.id);
  const reason = whyNot(pullRequest, pressed.of);
  if (before === undefined && reason !== null) return reason === "no-rounds" ? ROUNDS_ARE_OVER : NOT_OPEN;
  const accepted = await acceptRequest(deps, request);
  if (accepted.kind === "refused") return refusalText(accepted.refusal);
  if (accepted.kind === "accepted") return null;
  // If two people press at once, the accepted request says who did it.
  const first = await deps.records.get("turn", request.id);
  return alreadyDone(first?.request.userId ?? body.user.id, body.user.id, "asked for");
}
