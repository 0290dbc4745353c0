import { z } from "zod";
import { readingHints } from "./lenient.ts";
import { SHOWN_CHARS, Time } from "./reading.ts";

export const MAX_QUESTIONS = 20;
/** The most UTF-16 units of an answer in words. */
export const MAX_ANSWER_CHARS = 4000;
export const MAX_CHOICES = 10;

const Id = z.string().min(1).max(SHOWN_CHARS.line).register(readingHints, { isWhole: true });

/** One of the answers to choose from (untrusted text, bounded). */
export const QuestionChoice = z.object({
  id: Id.describe("Goes into `choice` of the answer."),
  label: z.string().max(SHOWN_CHARS.line).describe("What a person reads."),
});

/**
 * A question that the agent asks a person (untrusted text, bounded). It is open until it is
 * answered or its turn ends.
 */
export const JobQuestion = z
  .object({
    id: Id.describe("Goes into `questionId` of the answer."),
    turn: z.int().min(1).describe("The number of the turn that asks."),
    text: z.string().max(SHOWN_CHARS.reason).describe("The question."),
    choices: z.array(QuestionChoice).max(MAX_CHOICES).describe("The choices."),
    allowsText: z
      .boolean()
      .register(readingHints, { ifUnreadable: false })
      .describe("Whether the answer may be free text."),
    askedAt: Time.describe("When the agent asked."),
    answeredAt: Time.nullable().describe("When it was answered, or null while it is open."),
  })
  .meta({ id: "Question", description: "What the agent asks while its turn runs." });

const WANT_TEXT = `a text of 1 to ${MAX_ANSWER_CHARS} characters`;
const Choice = z.object({ choice: z.string().min(1).describe("The id of one of its choices.") });
const Words = z.object({
  text: z
    .string(WANT_TEXT)
    .max(MAX_ANSWER_CHARS, WANT_TEXT)
    .refine((text) => text.trim() !== "" && text.isWellFormed(), WANT_TEXT)
    .describe("The answer in words, where the question allows it."),
});

/** A person's answer: the id of a choice, or their own words if the question allows it. */
export const QuestionAnswer = z.union([Choice, Words]);
export type QuestionAnswer = z.infer<typeof QuestionAnswer>;

const ToQuestion = { questionId: z.string().min(1).describe("The question's id.") };

/** Body of an answer to a question. */
export const AnswerRequest = z
  .union(
    [z.strictObject({ ...ToQuestion, ...Choice.shape }), z.strictObject({ ...ToQuestion, ...Words.shape })],
    `an object with questionId and choice, or questionId and ${WANT_TEXT}`,
  )
  .meta({ id: "AnswerRequest" });
export type AnswerRequest = z.infer<typeof AnswerRequest>;
