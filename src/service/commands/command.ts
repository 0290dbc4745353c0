import { z } from "zod";
import { JobStatus } from "../../core/job-service.ts";

const Id = z.string();

/** What the command line asks of the service's state, in JSON. */
export const StateCommand = z.discriminatedUnion("name", [
  z.strictObject({ name: z.literal("create-key"), prefix: z.string(), project: Id }),
  z.strictObject({ name: z.literal("list-keys") }),
  z.strictObject({ name: z.literal("revoke-key"), id: Id }),
  z.strictObject({ name: z.literal("list-jobs"), project: Id.nullable(), status: JobStatus.nullable() }),
  z.strictObject({ name: z.literal("show-job"), id: Id }),
  z.strictObject({ name: z.literal("cancel-job"), id: Id }),
  z.strictObject({ name: z.literal("archive-job"), id: Id }),
  z.strictObject({ name: z.literal("answer"), job: Id, question: Id, words: z.string() }),
]);
export type StateCommand = z.infer<typeof StateCommand>;

/** What is written for a person. `isRefused`: it says why nothing was done. `isActive`: of a job that is shown. */
export const CommandResult = z.object({
  text: z.string(),
  isRefused: z.boolean().default(false),
  isActive: z.boolean().default(false),
});
export type CommandResult = z.infer<typeof CommandResult>;
