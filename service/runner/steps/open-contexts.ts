import type { OpenContext, RunContext, RunnerTurn } from "../turn.ts";

/** `notes`: a sentence for people about each context repository that the turn goes on without. */
export type OpenContexts = Disposable & { contexts: OpenContext[]; notes: string[] };

/**
 * Brings the project's context repositories up to date and shows their files in folders that stay
 * until this is disposed of. Rejects only when aborted: one that can't be read is left out.
 */
// oxlint-disable-next-line require-await
export async function openContexts(_turn: RunnerTurn, _context: RunContext): Promise<OpenContexts> {
  return { contexts: [], notes: [], [Symbol.dispose]: () => {} };
}
