/**
 * Base of every error this project throws on purpose: a literal `code`, a message that says what
 * failed, with what, and what to do about it, and the `cause` where there is one.
 */
export abstract class DocsAgentError extends Error {
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The `code` of an error of the store after which what was to be written may have been written. */
export const STORE_ANSWER_LOST = "store_answer_lost";

/** Whether the store did not answer, so that what was to be written may have been written. */
export function isStoreAnswerLost(thrown: unknown): thrown is DocsAgentError {
  return thrown instanceof DocsAgentError && thrown.code === STORE_ANSWER_LOST;
}

/** A limit of a plan has no room for one more: see `core/task-queue.ts`. */
export class LimitReachedError extends DocsAgentError {
  readonly code = "limit_reached";
  readonly gate: string;
  /** When there is room again, epoch milliseconds. */
  readonly againAtMs: number;

  constructor(gate: string, againAtMs: number) {
    super(`${gate} has reached its limit. There is room again at ${new Date(againAtMs).toISOString()}.`);
    this.gate = gate;
    this.againAtMs = againAtMs;
  }
}

/** The `code` of anything that was thrown, such as `ENOENT`; null: it has none. */
export function codeOf(thrown: unknown): string | null {
  return thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : null;
}

/** The same for people: the error's name where it has no code. */
export function codeOrNameOf(thrown: unknown): string {
  return codeOf(thrown) ?? (thrown instanceof Error ? thrown.name : "unknown error");
}

/** The message of anything that was thrown, for logs. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message;
  return String(thrown);
}
