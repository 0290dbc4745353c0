/** The model of Slack's limits: what it lets through, and for how long it sends the rest away. */
export const SLACK_LIMITS = {
  postsPerSecondAndChannel: 1,
  updatesPerMinuteAndWorkspace: 50,
  retryAfterS: 30,
};

/**
 * Slack does not count to the millisecond, and calls a second apart do not arrive exactly a second
 * apart.
 */
const POST_TOLERANCE_MS = 250;
const UPDATE_WINDOW_MS = 59_000;

/**
 * Whether a post to that channel may go through at that time (it then counts). Steady: a second
 * each, hardly a burst.
 */
export class PostLimit {
  readonly #nextAtMs = new Map<string, number>();

  take(channel: string, atMs: number): boolean {
    const nextAtMs = this.#nextAtMs.get(channel) ?? 0;
    if (atMs < nextAtMs - POST_TOLERANCE_MS) return false;
    this.#nextAtMs.set(channel, Math.max(nextAtMs, atMs) + 1000 / SLACK_LIMITS.postsPerSecondAndChannel);
    return true;
  }
}

/** Whether an update may go through at that time (it then counts): so many in any minute. */
export class UpdateLimit {
  #takenAtMs: number[] = [];

  take(atMs: number): boolean {
    this.#takenAtMs = this.#takenAtMs.filter((takenAtMs) => takenAtMs > atMs - UPDATE_WINDOW_MS);
    if (this.#takenAtMs.length >= SLACK_LIMITS.updatesPerMinuteAndWorkspace) return false;
    this.#takenAtMs.push(atMs);
    return true;
  }
}
