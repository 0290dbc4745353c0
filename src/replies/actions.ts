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

const SuggestionValue = z.object({ prompt: z.string().min(1) });

/** What the n-th of them is called, and what it carries back. */
export function suggestion(n: number, prompt: string): { actionId: string; value: string } {
  const value = JSON.stringify({ prompt } satisfies z.infer<typeof SuggestionValue>);
  return { actionId: `suggestion_${n}`, value };
}

/** The prompt; null for anything that is not a value of ours. */
export function parseSuggestion(value: string | undefined): string | null {
  return parsed(SuggestionValue, value)?.prompt ?? null;
}

/** The buttons that turn the pages of a list. */
export const LIST_NEWER = "list_newer";
export const LIST_OLDER = "list_older";

/** Of which list, and how many newer requests stand before the page. */
const ListValue = z.object({ of: z.enum(["person", "channel"]), from: z.number().int().min(0).max(1000) });
type ListValue = z.infer<typeof ListValue>;

export function listValue(value: ListValue): string {
  return JSON.stringify(value);
}

/** Null for anything that is not a value of ours. */
export function parseListValue(value: string | undefined): ListValue | null {
  return parsed(ListValue, value);
}

/** Whether an outcome was helpful: feedback buttons, and the two that stand in for them. */
export const FEEDBACK = "feedback";
export const FEEDBACK_YES = "feedback_yes";
export const FEEDBACK_NO = "feedback_no";

const FeedbackValue = z.object({ turnId: z.string(), vote: z.enum(["yes", "no"]) });
export type FeedbackValue = z.infer<typeof FeedbackValue>;

export function feedbackValue(value: FeedbackValue): string {
  return JSON.stringify(value);
}

/** Null for anything that is not a value of ours. */
export function parseFeedbackValue(value: string | undefined): FeedbackValue | null {
  return parsed(FeedbackValue, value);
}

const ReplyValue = z.object({ replyId: z.string() });

/** What the buttons under a question about a reply carry back. */
export function replyValue(replyId: string): string {
  return JSON.stringify({ replyId } satisfies z.infer<typeof ReplyValue>);
}

/** The reply's id; null for anything that is not a value of ours. */
export function parseReplyValue(value: string | undefined): string | null {
  return parsed(ReplyValue, value)?.replyId ?? null;
}

/** What a button carries back: which watch of which turn it belongs to. */
export const ButtonValue = z.object({ turnId: z.string(), watch: z.number().int() });
export type ButtonValue = z.infer<typeof ButtonValue>;

export function buttonValue(value: ButtonValue): string {
  return JSON.stringify(value);
}

/** Null for anything that is not a value of ours. */
export function parseButtonValue(value: string | undefined): ButtonValue | null {
  return parsed(ButtonValue, value);
}

/** What an entry of the menu in a status message carries back. */
const FollowValue = z.object({ turnId: z.string(), choice: z.enum(["follow", "mute"]) });
export type FollowValue = z.infer<typeof FollowValue>;

export function followValue(value: FollowValue): string {
  return JSON.stringify(value);
}

/** Null for anything that is not a value of ours. */
export function parseFollowValue(value: string | undefined): FollowValue | null {
  return parsed(FollowValue, value);
}

/** The button of each choice of a question has a number in its id: Slack takes no id twice in a block. */
const ANSWER_CHOICE = "answer_choice";
export const ANY_ANSWER_CHOICE = /^answer_choice_\d+$/;
export const ANSWER_IN_WORDS = "answer_in_words";

export function answerChoice(index: number): string {
  return `${ANSWER_CHOICE}_${index}`;
}

/** What the buttons under a question, and its form, carry back: which question of which turn, and the choice by its place. */
const QuestionValue = z.object({ turnId: z.string(), question: z.number().int(), choice: z.number().int() });
export type QuestionValue = z.infer<typeof QuestionValue>;

/** In place of a choice, where the answer is in words. */
export const IN_WORDS = -1;

export function questionValue(value: QuestionValue): string {
  return JSON.stringify(value);
}

/** Null for anything that is not a value of ours. */
export function parseQuestionValue(value: string | undefined): QuestionValue | null {
  return parsed(QuestionValue, value);
}

function parsed<T>(schema: z.ZodType<T>, value: string | undefined): T | null {
  try {
    return schema.parse(JSON.parse(value ?? ""));
  } catch {
    return null;
  }
}
