import { z } from "zod";

const Times = z.array(z.tuple([z.number(), z.number()]));

/**
 * Everything that has happened at the stand-ins. `Times` are pairs of a request's number and epoch
 * milliseconds.
 */
export const JournalReport = z.object({
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
export type JournalReport = z.infer<typeof JournalReport>;

/** The counts of a report. */
export const JournalCounts = JournalReport.pick({ polls: true, jobsPolled: true, unknownCalls: true }).extend(
  {
    created: z.number(),
    posted: z.number(),
    posts: z.number(),
  },
);
export type JournalCounts = z.infer<typeof JournalCounts>;

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

  counts(): JournalCounts {
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

  report(): JournalReport {
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
