import { arePublicDocs } from "../../publish/visibility.ts";
import type { RunnerTurn, TurnContext } from "../../turn-context.ts";
import { attachedTextFiles } from "./find-copies.ts";
import type { AgentRunResult } from "./run-agent.ts";

/**
 * Keeps the agent's session for the next turn. Where docs are public, none that knows an attached
 * text: the file is deleted with its turn, so later changes can't be compared with it.
 */
export async function keepSession(
  turn: RunnerTurn,
  context: TurnContext,
  ran: Pick<AgentRunResult, "keepSession">,
): Promise<void> {
  const knowsText = attachedTextFiles(turn).length > 0;
  if (knowsText && (await arePublicDocs(turn.project, context))) return;
  await ran.keepSession();
}
