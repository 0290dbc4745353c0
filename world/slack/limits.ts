import type { Call } from "./faults.ts";

/** At most `calls` in any stretch of `perMs`. */
export type Rate = { calls: number; perMs: number };

/** What Slack's limits are set to. What is left out, or undefined, is not limited. */
export type LimitSettings = {
  /** `chat.postMessage`, for each channel on its own. */
  posts?: Rate | undefined;
  /** `chat.update`, for the workspace. */
  updates?: Rate | undefined;
  /** `conversations.history` and `conversations.replies`, each on its own, for the workspace. */
  history?: Rate | undefined;
  /** The most messages one such call returns, whatever it asks for. */
  maxHistoryMessages?: number | undefined;
  /** What `Retry-After` says, in seconds. Left out: until a call would be taken. */
  retryAfterS?: number | undefined;
  /**
   * How long after a message was posted history and replies show it. Everything else works at once.
   */
  visibleAfterMs?: number | undefined;
  /**
   * How far Slack's clock is ahead of the one it was given; negative: behind. Moves `ts`, `Date`,
   * triggers and signatures.
   */
  clockAheadMs?: number | undefined;
};

const minuteMs = 60_000;

/**
 * The rates of an app that one workspace built for itself. Posts: "no more than one message per
 * second per channel", with "short bursts" allowed, here three posts in three seconds. Updates:
 * tier 3, 50 a minute. See https://docs.slack.dev/apis/web-api/rate-limits
 */
export const internalApp = {
  posts: { calls: 3, perMs: 3000 },
  updates: { calls: 50, perMs: minuteMs },
} satisfies LimitSettings;

/**
 * The rates of an app that is distributed outside Slack's Marketplace: history one call a minute,
 * 15 messages. See
 * https://docs.slack.dev/changelog/2025/05/29/rate-limit-changes-for-non-marketplace-apps
 */
export const distributedApp = {
  ...internalApp,
  history: { calls: 1, perMs: minuteMs },
  maxHistoryMessages: 15,
} satisfies LimitSettings;

/** How Slack limits an app; nothing is limited until something is set. */
export class Limits {
  readonly #now: () => number;
  #settings: LimitSettings;
  /** When calls were taken, by what they count for, oldest first. */
  readonly #taken = new Map<string, number[]>();

  constructor(now: () => number, settings: LimitSettings = {}) {
    this.#now = now;
    this.#settings = settings;
  }

  get settings(): Readonly<LimitSettings> {
    return this.#settings;
  }

  /** Changes what is named and leaves the rest; what was taken before still counts. */
  set(settings: LimitSettings): void {
    this.#settings = { ...this.#settings, ...settings };
  }

  /** Lifts every limit, and forgets what was taken. */
  clear(): void {
    this.#settings = {};
    this.#taken.clear();
  }

  /** Slack's own time, in epoch milliseconds. */
  slackNow(): number {
    return this.#now() + (this.#settings.clockAheadMs ?? 0);
  }

  /**
   * Counts a call that is taken. For one that is not: after how many seconds Slack says to try
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
