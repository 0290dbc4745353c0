import { Load } from "./load.ts";
import type { Context } from "./scenario.ts";
import { nowMs } from "../world/clock/epoch.ts";
import { signedRequests } from "./signed-request.ts";
import type { JournalReport } from "../world/light/journal.ts";
import { StandIns, startDocsAgent } from "./subjects.ts";
import { largest } from "./table.ts";

/** The delays that {@link watchBusyTime} saw. */
export type BusyTime = {
  /**
   * For each request, the time from the answer that says "completed" to the post that Slack took.
   * If there is no post, the time to the end of the watch.
   */
  waitsMs: number[];
  /** True if every outcome was posted in time. */
  isComplete: boolean;
  /**
   * The longest time from an ack to its create. For a job that was never created, it counts the
   * time to the end of the watch.
   */
  longestCreateMs: number;
  /**
   * The time from the first ack to the last outcome's post. Unless `isComplete`, the time to the
   * end of the watch.
   */
  lastOutcomeMs: number;
  report: JournalReport;
};

/**
 * Sends all requests to the program at once and watches them to the end. Slack has its limits, and
 * the jobs have the given length.
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
  progress(`${requests} requests accepted, waiting for their outcomes for at most ${watchedMs / 1000} s`);
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
