import { z } from "zod";
import { BenchError } from "../scenario.ts";

const Times = z.array(z.tuple([z.number(), z.number()]));

/**
 * Everything that has happened at the stand-ins. `Times` are pairs of a request's number and epoch
 * milliseconds.
 */
export const Report = z.object({
  /** The time when the job was created or the message taken, in that order. */
  created: Times,
  /** The time when the job service first answered that the job is completed. */
  known: Times,
  /** The time when Slack took the message that links the job's pull request. */
  posted: Times,
  posts: z.number(),
  postsRefused: z.number(),
  updates: z.number(),
  updatesRefused: z.number(),
  polls: z.number(),
  jobsPolled: z.number(),
  unknownCalls: z.array(z.string()),
});
export type Report = z.infer<typeof Report>;

/** The counts of a report. */
export const Counts = Report.pick({ polls: true, jobsPolled: true, unknownCalls: true }).extend({
  created: z.number(),
  posted: z.number(),
  posts: z.number(),
});
export type Counts = z.infer<typeof Counts>;

/**
 * Throws if the program asked for something that the stand-ins don't have. The bench would then
 * measure something else than it says.
 */
export function refuseUnknownCalls({ unknownCalls }: Pick<Report, "unknownCalls">): void {
  if (unknownCalls.length === 0) return;
  throw new BenchError(
    `The program made calls that bench/stand-ins doesn't answer: ${unknownCalls.join(", ")}.`,
  );
}

/** Collects the events. Of each kind it keeps only a request's first. */
export class Journal {
  readonly created = new Map<number, number>();
  readonly known = new Map<number, number>();
  readonly posted = new Map<number, number>();
  readonly unknownCalls = new Set<string>();
  readonly jobsPolled = new Set<string>();
  posts = 0;
  postsRefused = 0;
  updates = 0;
  updatesRefused = 0;
  polls = 0;

  counts(): Counts {
    const { polls, posts } = this;
    return {
      created: this.created.size,
      posted: this.posted.size,
      posts,
      polls,
      jobsPolled: this.jobsPolled.size,
      unknownCalls: [...this.unknownCalls],
    };
  }

  report(): Report {
    const { posts, postsRefused, updates, updatesRefused } = this;
    return {
      ...this.counts(),
      created: [...this.created],
      known: [...this.known],
      posted: [...this.posted],
      posts,
      postsRefused,
      updates,
      updatesRefused,
    };
  }
}

/** Notes the time of a request's first such event. */
export function noteFirst(times: Map<number, number>, n: number, atMs: number): void {
  if (!times.has(n)) times.set(n, atMs);
}
