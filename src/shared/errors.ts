/**
 * Base of every error this project throws on purpose. It has a literal `code`, a message that says
 * what failed, with what, and what to do about it, and a `cause` if there is one.
 */
export abstract class DocsAgentError extends Error {
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The `code` of a store error after which the write may still have happened. */
export const STORE_ANSWER_LOST = "store_answer_lost";

/** The `code` of a store error after which the write is there, but on too few machines. */
export const STORE_UNCONFIRMED = "store_unconfirmed";

/** True if the store didn't answer or didn't confirm, so the write may still have happened. */
export function isStoreAnswerLost(thrown: unknown): thrown is DocsAgentError {
  const isLost = thrown instanceof DocsAgentError && thrown.code === STORE_ANSWER_LOST;
  return isLost || isStoreUnconfirmed(thrown);
}

/** True if the store has the write, but too few of its standbys have confirmed it. */
export function isStoreUnconfirmed(thrown: unknown): boolean {
  return thrown instanceof DocsAgentError && thrown.code === STORE_UNCONFIRMED;
}

/**
 * A plan can't be carried out because one of its limits is reached. See `core/ports/task-queue.ts`.
 */
export class LimitReachedError extends DocsAgentError {
  readonly code = "limit_reached";
  readonly gate: string;
  /** When the limit has room again, epoch milliseconds. */
  readonly againAtMs: number;

  constructor(gate: string, againAtMs: number) {
    super(`${gate} has reached its limit. There is room again at ${new Date(againAtMs).toISOString()}.`);
    this.gate = gate;
    this.againAtMs = againAtMs;
  }
}

/** Returns the `code` of a thrown value, such as `ENOENT`, or null if it has none. */
export function codeOf(thrown: unknown): string | null {
  return thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : null;
}

/** Like {@link codeOf}, but falls back to the error's name, for people to read. */
export function codeOrNameOf(thrown: unknown): string {
  return codeOf(thrown) ?? (thrown instanceof Error ? thrown.name : "unknown error");
}

/** Returns the message of a thrown value, for logs. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message;
  return String(thrown);
}

/**
 * What to show of an error that ends a program: a message of our own, which says what to do, or
 * else the stack trace.
 */
export function shownError(thrown: unknown): string {
  const isOwn = thrown instanceof DocsAgentError;
  return isOwn || !(thrown instanceof Error) ? messageOf(thrown) : (thrown.stack ?? thrown.message);
}

/** Something outside keeps the program from starting. The message tells the operator what to do. */
export class StartError extends DocsAgentError {
  readonly code = "start";
}
