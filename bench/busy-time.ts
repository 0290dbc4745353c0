import { Load } from "./load.ts";
import { type Context, nowMs } from "./scenario.ts";
import { signedRequests } from "./signed-request.ts";
import type { Report } from "./stand-ins/journal.ts";
import { StandIns, startDocsAgent } from "./subjects.ts";
import { largest } from "./table.ts";

export type BusyTime = {
  /**
   * From the answer that says completed to the post that Slack took; for what is not posted, to the
   * end of the watch.
   */
  waitsMs: number[];
  /** Whether every outcome was posted in time. */
  isComplete: boolean;
  /**
   * From the ack to the create, the longest; a request whose job was never created counts to the
   * end of the watch.
   */
  longestCreateMs: number;
  /** From the first ack to the last outcome's post; to the end of the watch unless `isComplete`. */
  lastOutcomeMs: number;
  report: Report;
};

/**
 * Sends all requests at once to the program, between a Slack with limits and jobs of that length,
 * and watches to the end.
 */
export async function watchBusyTime(
  { checkout, dir, progress }: Context,
  options: {
    requests: number;
    channels: number;
    jobMs: [number, number];
    watchedMs: number;
    connections?: number;
  },
): Promise<BusyTime> {
  const { requests, channels, jobMs, watchedMs, connections = 10 } = options;
  await using standIns = await StandIns.start(dir, { isLimited: true, jobMs });
  const { program, origin } = await startDocsAgent({ checkout, standIns, dir, store: "busy.sqlite" });
  await using _ = program;
  await using load = new Load(origin, connections, signedRequests(requests, channels));
  const { acceptedAtMs } = await load.run(Infinity);
  progress(`${requests} requests accepted; waiting for their outcomes, at most ${watchedMs / 1000} s`);
  const isComplete = await standIns.until(({ posted }) => posted >= requests, watchedMs);
  const endedAtMs = nowMs();
  const report = await standIns.report();

  const created = new Map(report.created);
  const posted = new Map(report.posted);
  const accepted = [...acceptedAtMs];
  const firstAcceptedAtMs = Math.min(...acceptedAtMs.values());
  return {
    waitsMs: report.known.map(([n, knownAtMs]) => (posted.get(n) ?? endedAtMs) - knownAtMs),
    isComplete,
    longestCreateMs: largest(accepted.map(([n, atMs]) => (created.get(n) ?? endedAtMs) - atMs)),
    lastOutcomeMs: (isComplete ? largest(posted.values()) : endedAtMs) - firstAcceptedAtMs,
    report,
  };
}
