import { TurnFailedError } from "../../../base/run-error.ts";
import { refusedText } from "../../agents/acp-permissions.ts";
import type { Success } from "../../turn-context.ts";
import type { AgentRunResult } from "./run-agent.ts";
import type { Worked } from "./work-in-rounds.ts";

const TAKEN_BACK = "The agent took its changes back when the checks found problems in them.";

/**
 * The result of a run that left nothing to commit. Throws if a failed model call may be the reason,
 * because not every agent that stops because of it says that it failed.
 */
export function reportNothing(
  { summary, refused, modelTrouble }: Pick<AgentRunResult, "summary" | "refused" | "modelTrouble">,
  { leftOut, isTakenBack }: Pick<Worked, "leftOut" | "isTakenBack">,
): Success {
  if (modelTrouble !== null && leftOut.length === 0) {
    const said = summary === null ? "" : `The agent said: ${summary}`;
    throw new TurnFailedError(modelTrouble.reason, { details: [modelTrouble.advice, said] });
  }
  const reason = reasonOf(refused, leftOut) ?? (isTakenBack && summary === null ? TAKEN_BACK : null);
  return { kind: "no-changes", summary, reason, leftOut };
}

/**
 * Why nothing came of a run in which the agent did something, or wanted to. Null if the agent says
 * so itself.
 */
function reasonOf(refused: readonly string[], leftOut: readonly string[]): string | null {
  const outside =
    leftOut.length === 0
      ? null
      : `Only files that can't be part of this project's docs were changed: ${leftOut.join(", ")}.`;
  const reasons = [outside, refusedText(refused)].filter((text) => text !== null);
  return reasons.length === 0 ? null : reasons.join(" ");
}
