import { z } from "zod";

/** Action ids of the buttons that messages carry. */
export const VIEW_PULL_REQUEST = "view_pull_request";
export const VIEW_MESSAGE = "view_message";
export const TRY_AGAIN = "try_again";
export const KEEP_WATCHING = "keep_watching";
export const STOP_TURN = "stop_turn";
export const FOLLOW_MENU = "follow_menu";
export const FOLLOW_IT = "follow_it";

export const SEND_REPLY = "send_reply";
export const IGNORE_REPLY = "ignore_reply";

/** The buttons with the prompts that are suggested to a newcomer, one by one. */
export const SUGGESTION = /^suggestion_\d$/;

export function suggestionId(n: number): string {
  return `suggestion_${n}`;
}

/** The buttons that turn the pages of a list. */
export const LIST_NEWER = "list_newer";
export const LIST_OLDER = "list_older";

/** Whether an outcome was helpful: feedback buttons, and the two that stand in for them. */
export const FEEDBACK = "feedback";
export const FEEDBACK_YES = "feedback_yes";
export const FEEDBACK_NO = "feedback_no";

/**
 * The button of each choice of a question has a number in its id: Slack takes no id twice in a
 * block.
 */
export const ANSWER_CHOICE = /^answer_choice_\d+$/;
export const ANSWER_IN_WORDS = "answer_in_words";

export function answerChoiceId(index: number): string {
  return `answer_choice_${index}`;
}

/**
 * What the buttons of one sort carry back: `read` is null for anything that is not a value of ours.
 */
type Carried<T> = { write: (value: T) => string; read: (text: string | undefined) => T | null };

function carried<T>(schema: z.ZodType<T>): Carried<T> {
  return {
    write: (value) => JSON.stringify(value),
    read(text) {
      try {
        return schema.parse(JSON.parse(text ?? ""));
      } catch {
        return null;
      }
    },
  };
}

const ButtonValue = z.object({ turnId: z.string(), watch: z.number().int() });
export type ButtonValue = z.infer<typeof ButtonValue>;
/** Which watch of which turn a button belongs to. */
export const buttonValue = carried(ButtonValue);

const FollowValue = z.object({ turnId: z.string(), choice: z.enum(["follow", "mute"]) });
export type FollowValue = z.infer<typeof FollowValue>;
/** An entry of the menu in a status message. */
export const followValue = carried(FollowValue);

const FeedbackValue = z.object({ turnId: z.string(), vote: z.enum(["yes", "no"]) });
export type FeedbackValue = z.infer<typeof FeedbackValue>;
export const feedbackValue = carried(FeedbackValue);

const QuestionValue = z.object({ turnId: z.string(), question: z.number().int(), choice: z.number().int() });
export type QuestionValue = z.infer<typeof QuestionValue>;
/**
 * Of the buttons under a question, and of its form: which question of which turn, and the choice by
 * its place.
 */
export const questionValue = carried(QuestionValue);

/** In place of a choice, where the answer is in words. */
export const IN_WORDS = -1;

/** Of the buttons under a question about a reply. */
export const replyValue = carried(z.object({ replyId: z.string() }));

/** Of which list, and how many newer requests stand before the page. */
export const listValue = carried(
  z.object({ of: z.enum(["person", "channel"]), from: z.number().int().min(0).max(1000) }),
);

export const suggestionValue = carried(z.object({ prompt: z.string().min(1) }));
