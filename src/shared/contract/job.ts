import { z } from "zod";
import { storedObject } from "./reading.ts";

/** A job's state, in the job service's own words (`docs/job-service.md`). */
export const JobStatus = z.enum(["active", "completed", "archived", "failed"]);
export type JobStatus = z.infer<typeof JobStatus>;

/**
 * The job service's record of one job. `prLink` is whatever it sent, and untrusted until `replies/`
 * has checked it.
 */
export const Job = storedObject({
  id: z.string().min(1),
  status: JobStatus,
  repository: z.string().nullable(),
  ref: z.string().nullable(),
  model: z.string().nullable(),
  prLink: z.string().nullable(),
});
export type Job = z.infer<typeof Job>;

/** A person's answer: the id of a choice, or their own words if the question allows it. */
export type QuestionAnswer = { choice: string } | { text: string };

/**
 * The requester of a turn, for a service of level 1. `link` leads to the message
 * that asked or to its thread; null if there is none yet. `isPrivate` is true unless Slack says
 * that everybody in the workspace can read that place.
 */
export const Requester = storedObject({
  name: z.string(),
  link: z.string().nullable(),
  isPrivate: z.boolean(),
});
export type Requester = z.infer<typeof Requester>;

/**
 * Who is who in a turn's prompt, by ids that stay the same when people change their names, for a
 * service of level 1. `quoted` has the author of each quoted message, in order. It is
 * null for a message that no person wrote, or more than one.
 */
export const Authors = storedObject({ requester: z.string(), quoted: z.array(z.string().nullable()) });
export type Authors = z.infer<typeof Authors>;
