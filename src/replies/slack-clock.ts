import type { FetchFunction } from "@slack/web-api";

/** Slack's time, read from the answers to calls made through it. */
export type SlackClock = {
  /**
   * Epoch milliseconds, exact to the second and rather early than late. Before the first answer,
   * our own time.
   */
  timeMs(): number;
  /** A fetch that reads each answer's `Date`. */
  watching(fetch: FetchFunction): FetchFunction;
};

/**
 * Posts are searched for by Slack's time, and a host's own clock may be minutes off. Between
 * answers, the monotonic clock counts on, so a step of the host's clock changes nothing.
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
        // A proxy's page carries the proxy's time.
        const isSlacks = response.ok && response.headers.get("content-type")?.includes("json") === true;
        if (isSlacks && !Number.isNaN(dateMs)) seen = { dateMs, atMs: clock.monotonicMs() };
        return response;
      };
    },
  };
}
