import { z } from "zod";
import { jsonOf } from "../core/text/text.ts";

/** Action ids of the buttons in messages. */
export const VIEW_PULL_REQUEST = "view_pull_request";
export const VIEW_MESSAGE = "view_message";
export const TRY_AGAIN = "try_again";
export const KEEP_WATCHING = "keep_watching";
export const SHOW_CHANGES = "show_changes";
export const STOP_TURN = "stop_turn";
export const FOLLOW_MENU = "follow_menu";
export const FOLLOW_IT = "follow_it";

export const SEND_REPLY = "send_reply";
export const IGNORE_REPLY = "ignore_reply";

/** The buttons with the prompts suggested to a newcomer. */
export const SUGGESTION = /^suggestion_\d$/;

export function suggestionId(n: number): string {
  return `suggestion_${n}`;
}

export const LIST_NEWER = "list_newer";
export const LIST_OLDER = "list_older";

/** The feedback buttons, and the two plain buttons that stand in for them. */
export const FEEDBACK = "feedback";
export const FEEDBACK_YES = "feedback_yes";
export const FEEDBACK_NO = "feedback_no";

/** The button of each choice has a number in its id, because ids must be unique within a block. */
export const ANSWER_CHOICE = /^answer_choice_\d+$/;
export const ANSWER_IN_WORDS = "answer_in_words";

export function answerChoiceId(index: number): string {
  return `answer_choice_${index}`;
}

/**
 * Writes and reads the value of one kind of button. `read` returns null for a value that isn't
 * ours.
 */
function carried<T>(schema: z.ZodType<T>) {
  return {
    write: (value: T): string => JSON.stringify(value),
    read: (text: string | undefined): T | null => schema.safeParse(jsonOf(text ?? "")).data ?? null,
  };
}

const ButtonValue = z.object({ turnId: z.string(), watch: z.number().int() });
export type ButtonValue = z.infer<typeof ButtonValue>;
/** The watch and turn that a button belongs to. */
export const buttonValue = carried(ButtonValue);

/** An entry of a status message's menu. */
export const followValue = carried(z.object({ turnId: z.string(), choice: z.enum(["follow", "mute"]) }));

const FeedbackValue = z.object({ turnId: z.string(), vote: z.enum(["yes", "no"]) });
export type FeedbackValue = z.infer<typeof FeedbackValue>;
export const feedbackValue = carried(FeedbackValue);

const QuestionValue = z.object({ turnId: z.string(), question: z.number().int(), choice: z.number().int() });
export type QuestionValue = z.infer<typeof QuestionValue>;
/** The question that a button or form belongs to, and the index of its choice. */
export const questionValue = carried(QuestionValue);

/** The choice index of an answer in words. */
export const IN_WORDS = -1;

/** The reply that the buttons of its question belong to. */
export const replyValue = carried(z.object({ replyId: z.string() }));

/** The list, and the number of requests before the page. `isOpen`: of open pull requests. */
export const listValue = carried(
  z.object({
    of: z.enum(["person", "channel"]),
    isOpen: z.boolean().optional(),
    from: z.number().int().min(0).max(1000),
  }),
);

export const suggestionValue = carried(z.object({ prompt: z.string().min(1) }));
