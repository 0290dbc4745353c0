import { z } from "zod";
import { ActButton } from "../rules/thread/acting.ts";
import { jsonOf } from "../../shared/text/text.ts";

/** Action ids of the buttons and menus in messages. */
export const ACTIONS = {
  viewPullRequest: "view_pull_request",
  viewMessage: "view_message",
  tryAgain: "try_again",
  keepWatching: "keep_watching",
  showChanges: "show_changes",
  closePullRequest: "close_pull_request",
  makeChanges: "make_changes",
  fixChecks: "fix_checks",
  updatePullRequest: "update_pull_request",
  stopTurn: "stop_turn",
  followMenu: "follow_menu",
  followIt: "follow_it",
  addToIt: "add_to_it",
  sendReply: "send_reply",
  ignoreReply: "ignore_reply",
  replyIsAnswer: "reply_is_answer",
  refreshHome: "refresh_home",
  homeProject: "home_project",
  listNewer: "list_newer",
  listOlder: "list_older",
  /** The feedback buttons, and the two plain buttons that stand in for them. */
  feedback: "feedback",
  feedbackYes: "feedback_yes",
  feedbackNo: "feedback_no",
  answerInWords: "answer_in_words",
} as const;

/** The buttons with the prompts suggested to a newcomer. */
export const SUGGESTION = /^suggestion_\d$/;

export function suggestionId(n: number): string {
  return `suggestion_${n}`;
}

/** The buttons with the projects that a request may be for. */
export const CHOOSE_PROJECT = /^choose_project_\d+$/;

export function chooseProjectId(index: number): string {
  return `choose_project_${index}`;
}

/** The button of each choice has a number in its id, because ids must be unique within a block. */
export const ANSWER_CHOICE = /^answer_choice_\d+$/;

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

/** What a button under news is about. */
export const actValue = carried(ActButton);

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

const ProjectValue = z.object({ replyId: z.string(), project: z.string() });
export type ProjectValue = z.infer<typeof ProjectValue>;
/** The kept request, and the name of the project that a button sends it to. */
export const projectValue = carried(ProjectValue);

const AddValue = z.object({ turnId: z.string(), replyId: z.string().optional() });
export type AddValue = z.infer<typeof AddValue>;
/** The turn whose pull request a request is added to, and the request, if it isn't in a form. */
export const addValue = carried(AddValue);

/** The list, and the number of requests before the page. `isOpen`: of open pull requests. */
export const listValue = carried(
  z.object({
    of: z.enum(["person", "channel"]),
    isOpen: z.boolean().optional(),
    from: z.number().int().min(0).max(1000),
  }),
);

/** **Refresh** in a Home tab carries nothing. */
export const refreshValue = carried(z.object({}));

/** The name of the project that a person chooses in their Home tab. Null: none. */
export const homeProjectValue = carried(z.object({ project: z.string().nullable() }));

export const suggestionValue = carried(z.object({ prompt: z.string().min(1) }));
