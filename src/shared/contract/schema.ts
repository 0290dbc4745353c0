import { z } from "zod";
import { Attachment } from "./attachment.ts";
import { Authors, Requester } from "./job.ts";

/**
 * Body of a create or a follow-up message. All but `prompt` is only for a service of level 1.
 */
export const CreateJobRequest = z.object({
  prompt: z.string().min(1),
  attachments: z.array(Attachment).optional(),
  words: z.string().min(1).optional(),
  requester: Requester.optional(),
  authors: Authors.optional(),
});
export type CreateJobRequest = z.infer<typeof CreateJobRequest>;

/** Body of an answer to a question: a choice's id, or text if the question allows it. */
export const AnswerRequest = z.union([
  z.object({
    questionId: z.string().min(1).describe("The question's id."),
    choice: z.string().min(1).describe("The id of one of its choices."),
  }),
  z.object({
    questionId: z.string().min(1).describe("The question's id."),
    text: z.string().min(1).describe("The answer in words."),
  }),
]);
export type AnswerRequest = z.infer<typeof AnswerRequest>;

/** Body of a refusal. Proxies answer without one. */
export const ErrorBody = z.object({ error: z.string().describe("What is wrong, and what to do.") });
