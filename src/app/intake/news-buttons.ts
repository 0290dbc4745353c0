import type { App, BlockAction } from "@slack/bolt";
import { type ActButton, actRequest, whyNot } from "../rules/thread/acting.ts";
import { maySteer, notAllowed } from "../rules/thread/people.ts";
import { endingOf } from "../rules/turn/outcome.ts";
import type { Turn } from "../rules/turn/turn.ts";
import { actValue } from "../messages/actions.ts";
import { NEWS_BUTTONS } from "../messages/pull-request-messages.ts";
import { refusalMessage } from "../messages/refusal-message.ts";
import {
  CHECKS_PASSED,
  NO_CONFLICTS,
  NOT_OPEN,
  NOT_VISIBLE,
  ROUNDS_ARE_OVER,
} from "../messages/short-answers.ts";
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

const REFUSALS = {
  "not-open": NOT_OPEN,
  "not-visible": NOT_VISIBLE,
  "no-rounds": ROUNDS_ARE_OVER,
  "no-conflicts": NO_CONFLICTS,
  "checks-passed": CHECKS_PASSED,
};

/** True if a turn has ended and left no change. */
function wasInVain({ stage }: Turn): boolean {
  return stage.name === "ended" && endingOf(stage.outcome) !== "pull-request";
}

async function act(deps: IntakeDeps, pressed: ActButton, body: BlockAction): Promise<PressAnswer> {
  const turn = await deps.records.get("turn", pressed.turnId);
  const { pullRequest } = turn ?? {};
  if (turn === undefined || pullRequest === undefined) return tooOld(deps);
  if (!maySteer(deps.followUps, turn, body.user.id)) return notAllowed(turn);
  const by = {
    channelId: body.channel?.id ?? turn.delivery.channelId,
    threadTs: threadOfMessage(body),
    userId: body.user.id,
    responseUrl: body.response_url ?? null,
    receivedAt: deps.clock.now(),
  };
  const requestAfter = (inVain: number) => actRequest({ ...turn, pullRequest }, pressed, by, inVain);
  let request = requestAfter(0);
  let before = await deps.records.get("turn", request.id);
  for (let inVain = 1; before !== undefined && wasInVain(before); inVain += 1) {
    request = requestAfter(inVain);
    before = await deps.records.get("turn", request.id);
  }
  const reason = whyNot(pullRequest, pressed.of);
  if (before === undefined && reason !== null) return REFUSALS[reason];
  const accepted = await acceptRequest(deps, request);
  if (accepted.kind === "refused") return refusalMessage(accepted.refusal, deps);
  if (accepted.kind === "accepted") return null;
  // If two people press at once, the accepted request says who did it.
  const first = await deps.records.get("turn", request.id);
  return alreadyDone(first?.request.userId ?? body.user.id, body.user.id, "asked for");
}
