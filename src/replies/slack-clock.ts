import type { FetchFunction } from "@slack/web-api";

/** Slack's time, read from the answers of the calls that are made through it. */
export type SlackClock = {
  /**
   * Epoch milliseconds, to the second and rather early than late; ours until an answer has told it.
   */
  timeMs(): number;
  /** The same fetch, with a look at each answer's `Date`. */
  watching(fetch: FetchFunction): FetchFunction;
};

/**
 * Posts are looked for by Slack's time, and a host's own clock may be minutes off. Between answers
 * time goes on by the monotonic clock, so a step of the host's clock changes nothing.
 */
export function createSlackClock(clock: { now(): number; monotonicMs(): number }): SlackClock {
  let seen: { dateMs: number; atMs: number } | null = null;
  return {
    timeMs() {
      return seen === null ? clock.now() : seen.dateMs + (clock.monotonicMs() - seen.atMs);
    },

    watching(fetch) {
      return async (url, init) => {
        const response = await fetch(url, init);
        const dateMs = Date.parse(response.headers.get("date") ?? "");
        // A proxy's page has the proxy's time.
        const isSlacks = response.ok && response.headers.get("content-type")?.includes("json") === true;
        if (isSlacks && !Number.isNaN(dateMs)) seen = { dateMs, atMs: clock.monotonicMs() };
        return response;
      };
    },
  };
}
