import { joinedPaths } from "../../publish/bounded-paths.ts";
import { inShownOrder, joinedClaims } from "../../publish/checked-claim.ts";
import type { TurnWork } from "../../publish/turn-note.ts";
import type { RunnerTurn } from "../../turn-context.ts";

/** Everything of the agent's that is told about the change, in the order of the pull request. */
export function toldTexts(
  { earlierTurns }: RunnerTurn,
  { summary, leftOut, claims, earlier }: Pick<TurnWork, "summary" | "leftOut" | "claims" | "earlier">,
): string[] {
  const all = joinedClaims([...earlier.map((turn) => turn.claims), claims ?? []]);
  const { named = [], hidden = [] } = Object.groupBy(all, ({ isPublic }) => (isPublic ? "named" : "hidden"));
  // What isn't shown in public may not stand between two halves of a sentence.
  const shown = [...inShownOrder(named), ...hidden];
  const texts = [
    summary,
    ...earlierTurns.map((turn) => turn.summary),
    ...shown.map(({ statement }) => statement),
    ...shown.map(({ page }) => page),
    ...joinedPaths([...earlier.map((turn) => turn.leftOut), leftOut]),
  ];
  return [...new Set(texts.flatMap((text) => text ?? []))].filter((text) => text !== "");
}
