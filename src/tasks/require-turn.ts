import { DocsAgentError } from "../errors.ts";
import type { Turn } from "../core/turn.ts";
import type { TaskDeps } from "./deps.ts";

/** Thrown when a task's turn has no readable record: it was set aside or removed. Repeating changes nothing. */
export class TurnLostError extends DocsAgentError {
  readonly code = "turn_lost";
}

export async function requireTurn(deps: Pick<TaskDeps, "records">, turnId: string): Promise<Turn> {
  const turn = await deps.records.turns.get(turnId);
  if (turn === undefined) throw new TurnLostError(`There is no readable record of turn ${turnId}.`);
  return turn;
}
