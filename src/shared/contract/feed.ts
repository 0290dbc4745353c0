import { z } from "zod";
import { FullJob } from "./job.ts";
import { WaitingReviews } from "./waiting-reviews.ts";

/**
 * Answer of a list, newest first, without turns and questions. `next` is the next page's `after`,
 * or null on the last page.
 */
export const JobList = z.object({
  jobs: z
    .array(FullJob.omit({ turns: true, questions: true }).meta({ id: "ListedJob" }))
    .describe("Without turns and questions."),
  next: z.string().nullable().describe("Goes into `after`. Null on the last page."),
});

/** Answer of the feed: the jobs that have changed. `next` is the next request's `after`. */
export const JobChanges = z.object({
  jobs: z.array(FullJob).describe("The jobs as they are now, with the fields that the client asked for."),
  next: z.string().describe("Goes into `after`."),
  waitingReviews: WaitingReviews.optional().describe(
    "The open pull requests of the project's repository that wait for a review, if they are more than " +
      "its settings want. Otherwise absent.",
  ),
});
