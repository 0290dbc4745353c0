/**
 * A model of Slack's limits: the calls that it allows, and the time for which it turns further ones
 * away.
 */
export const SLACK_LIMITS = {
  postsPerSecondAndChannel: 1,
  updatesPerMinuteAndWorkspace: 50,
  retryAfterS: 30,
};

/**
 * Slack doesn't count to the millisecond, and calls that are made one second apart don't arrive
 * exactly one second apart.
 */
const POST_TOLERANCE_MS = 250;
const UPDATE_WINDOW_MS = 59_000;

/**
 * Allows a post to a channel about once a second, with hardly a burst. A post that is allowed
 * counts.
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

/** Allows a fixed number of updates in any minute. An update that is allowed counts. */
export class UpdateLimit {
  #takenAtMs: number[] = [];

  take(atMs: number): boolean {
    this.#takenAtMs = this.#takenAtMs.filter((takenAtMs) => takenAtMs > atMs - UPDATE_WINDOW_MS);
    if (this.#takenAtMs.length >= SLACK_LIMITS.updatesPerMinuteAndWorkspace) return false;
    this.#takenAtMs.push(atMs);
    return true;
  }
}
