import { z } from "zod";
import { storedObject } from "./stored-object.ts";

/** Where a job stands, in the job service's own words (`docs/job-service.md`). */
export const JobStatus = z.enum(["active", "completed", "archived", "failed"]);
export type JobStatus = z.infer<typeof JobStatus>;

/** What the job service says of one job. `prLink` is whatever it sent: untrusted until `replies/` has looked at it. */
export const Job = storedObject({
  id: z.string().min(1),
  status: JobStatus,
  repository: z.string().nullable(),
  ref: z.string().nullable(),
  model: z.string().nullable(),
  prLink: z.string().nullable(),
});
export type Job = z.infer<typeof Job>;
