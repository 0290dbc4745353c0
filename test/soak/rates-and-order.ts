import { INTERNAL_APP } from "../../world/slack/index.ts";
import type { Call, Rate, SlackMessage } from "../../world/slack/index.ts";
import { nameOf, turnOf } from "./ledger.ts";

/** The longest delay before the end of a fault is noted. */
const NOTED_WITHIN_MS = 2_000;
/**
 * Calls that a fault has held up arrive within this time after its end, together with calls that
 * were made in time.
 */
const HELD_UP_FOR_MS = 3_000;

/**
 * Finds times when Slack was called more often than it allows. The arrival of calls counts,
 * including refused ones. Calls around the ends of faults don't count. There, calls that were made
 * in time arrive together, and no caller can know that.
 */
export function rateBreaches(calls: readonly Call[], faultEnds: readonly number[] = []): string[] {
  const posts = Map.groupBy(
    calls.filter(({ method }) => method === "chat.postMessage"),
    ({ args }) => String(args["channel"]),
  );
  const updates = calls.filter(({ method }) => method === "chat.update");
  return [
    ...[...posts].flatMap(([channel, inChannel]) =>
      breachesOf(`posts in ${channel}`, inChannel, INTERNAL_APP.posts, faultEnds),
    ),
    ...breachesOf("updates", updates, INTERNAL_APP.updates, faultEnds),
  ];
}

/** Returns the most calls of a method in one minute. */
export function peakPerMinute(calls: readonly Call[], isMeant: (call: Call) => boolean): number {
  const times = calls.filter(isMeant).map(({ at }) => at);
  let peak = 0;
  let first = 0;
  for (const [index, at] of times.entries()) {
    while ((times[first] ?? at) <= at - 60_000) first += 1;
    peak = Math.max(peak, index - first + 1);
  }
  return peak;
}

function breachesOf(
  what: string,
  calls: readonly Call[],
  rate: Rate,
  faultEnds: readonly number[],
): string[] {
  const breaches: string[] = [];
  let first = 0;
  for (const [index, { at }] of calls.entries()) {
    while ((calls[first]?.at ?? at) <= at - rate.perMs) first += 1;
    const count = index - first + 1;
    if (count <= rate.calls) continue;
    const window = calls.slice(first, index + 1).map((call) => `${time(call.at)} ${call.result ?? "open"}`);
    const from = calls[first]?.at ?? at;
    const isHeldUp = faultEnds.some((end) => end - NOTED_WITHIN_MS <= at && end + HELD_UP_FOR_MS >= from);
    if (!isHeldUp)
      breaches.push(`${count} ${what} within ${rate.perMs / 1000} s: ${window.slice(0, 6).join(", ")}`);
    // Each stretch counts once.
    first = index + 1;
  }
  return breaches;
}

/**
 * Finds turns whose posts aren't in order: the status message, and then the outcome of each watch,
 * all in one thread.
 */
export function orderBreaches(posts: readonly SlackMessage[]): string[] {
  const breaches: string[] = [];
  for (const [turnId, ofTurn] of Map.groupBy(posts, turnOf)) {
    const status = ofTurn.find((post) => nameOf(post) === "status");
    const outcomes = ofTurn.filter((post) => nameOf(post).startsWith("outcome-"));
    for (const outcome of outcomes) {
      const place = `${nameOf(outcome)} of ${turnId} in ${outcome.channel} at ${outcome.ts}`;
      // Another turn's status message may show a follow-up or a second try. The ledger finds
      // missing ones.
      if (status === undefined) continue;
      const said = `the status message in ${status.channel} at ${status.ts}`;
      if (Number(outcome.ts) <= Number(status.ts)) breaches.push(`${place} came before ${said}`);
      const isInThread =
        outcome.channel === status.channel && outcome.thread_ts === (status.thread_ts ?? status.ts);
      if (!isInThread) breaches.push(`${place} is not in the thread of ${said}`);
    }
    for (const [index, outcome] of outcomes.toSorted((a, b) => Number(a.ts) - Number(b.ts)).entries()) {
      if (nameOf(outcome) !== `outcome-${index + 1}`)
        breaches.push(`${nameOf(outcome)} of ${turnId} at ${outcome.ts} is out of turn`);
    }
  }
  return breaches;
}

function time(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(11, 23);
}
