import type { Call } from "./faults.ts";

/** A rate: at most `calls` within any `perMs` milliseconds. */
export type Rate = { calls: number; perMs: number };

/** Slack's limits. Nothing that is left out or undefined is limited. */
export type LimitSettings = {
  /** Limits `chat.postMessage` for each channel. */
  posts?: Rate | undefined;
  /** Limits `chat.update` for the workspace. */
  updates?: Rate | undefined;
  /**
   * Limits `conversations.history` and `conversations.replies` for the workspace, each separately.
   */
  history?: Rate | undefined;
  /** The largest number of messages in one such answer, even if the call asks for more. */
  maxHistoryMessages?: number | undefined;
  /**
   * The value of `Retry-After`, in seconds. By default it is the time until a call would be taken.
   */
  retryAfterS?: number | undefined;
  /**
   * The time after a post until history and replies show the message. Everything else works at
   * once.
   */
  visibleAfterMs?: number | undefined;
  /**
   * The time by which Slack's clock is ahead of the one that it was given. A negative value means
   * behind. It changes `ts`, `Date`, triggers and signatures.
   */
  clockAheadMs?: number | undefined;
};

const MINUTE_MS = 60_000;

/**
 * The rates of an app that one workspace built for itself. Posts: "no more than one message per
 * second per channel", with "short bursts" allowed, here three posts in three seconds. Updates:
 * tier 3, 50 a minute. See https://docs.slack.dev/apis/web-api/rate-limits
 */
export const INTERNAL_APP = {
  posts: { calls: 3, perMs: 3000 },
  updates: { calls: 50, perMs: MINUTE_MS },
} satisfies LimitSettings;

/**
 * The rates of an app that is distributed outside Slack's Marketplace. It may read history once a
 * minute, and gets 15 messages. See
 * https://docs.slack.dev/changelog/2025/05/29/rate-limit-changes-for-non-marketplace-apps
 */
export const DISTRIBUTED_APP = {
  ...INTERNAL_APP,
  history: { calls: 1, perMs: MINUTE_MS },
  maxHistoryMessages: 15,
} satisfies LimitSettings;

/** Slack's limits for an app. Nothing is limited until something is set. */
export class Limits {
  readonly #now: () => number;
  #settings: LimitSettings;
  /** The times of the calls that were taken, oldest first, by the limit that they count for. */
  readonly #taken = new Map<string, number[]>();

  constructor(now: () => number, settings: LimitSettings = {}) {
    this.#now = now;
    this.#settings = settings;
  }

  get settings(): Readonly<LimitSettings> {
    return this.#settings;
  }

  /** Changes the named limits and leaves the others. Calls that were taken before still count. */
  set(settings: LimitSettings): void {
    this.#settings = { ...this.#settings, ...settings };
  }

  /** Removes every limit, and forgets the calls that were taken. */
  clear(): void {
    this.#settings = {};
    this.#taken.clear();
  }

  /** Returns Slack's own time, in epoch milliseconds. */
  slackNow(): number {
    return this.#now() + (this.#settings.clockAheadMs ?? 0);
  }

  /**
   * Counts a call if it is taken. Otherwise returns the seconds after which Slack says to try
   * again.
   */
  take(call: Call): number | undefined {
    const limited = this.#limited(call);
    if (limited === undefined) return undefined;
    const { key, rate } = limited;
    const nowMs = this.#now();
    const recent = (this.#taken.get(key) ?? []).filter((takenMs) => takenMs > nowMs - rate.perMs);
    this.#taken.set(key, recent);
    if (recent.length < rate.calls) {
      recent.push(nowMs);
      return undefined;
    }
    const oldest = recent[recent.length - rate.calls] ?? nowMs;
    return this.#settings.retryAfterS ?? Math.max(1, Math.ceil((oldest + rate.perMs - nowMs) / 1000));
  }

  #limited({ method, args }: Call): { key: string; rate: Rate } | undefined {
    const { posts, updates, history } = this.#settings;
    switch (method) {
      case "chat.postMessage":
        return posts && { key: `${method} ${String(args["channel"])}`, rate: posts };
      case "chat.update":
        return updates && { key: method, rate: updates };
      case "conversations.history":
      case "conversations.replies":
        return history && { key: method, rate: history };
      default:
        return undefined;
    }
  }
}
