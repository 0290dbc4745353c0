import { z } from "zod";
import type { KnownQuestion } from "../known-job.ts";
import { type JobServiceAnswer, speaks } from "../ports/job-service.ts";
import { storedObject } from "../../../shared/contract/reading.ts";
import { Request } from "../turn/request.ts";
import { cut, excerpt, plainLine } from "../../../shared/text/text.ts";
import type { QuestionAnswer } from "../../../shared/contract/question.ts";

/** How much of a question is kept, in UTF-16 units. A message shows no more. */
const TEXT_MAX = 1000;
const TEXT_MAX_LINES = 20;
const LABEL_MAX = 150;
/** Slack's limit of 25 buttons in a block, minus one for an answer in words. */
const CHOICES_MAX = 24;
/**
 * The most questions of one turn. Our own job service has the same limit for one run of an agent.
 */
const QUESTIONS_MAX = 20;

/**
 * The longest answer in words, in UTF-16 units. It is Slack's limit for a text field, which is
 * below that of our job service.
 */
export const ANSWER_MAX_CHARS = 3000;

/**
 * How sending an answer ended.
 *
 * - `taken`: the agent has it.
 * - `late`: the agent no longer waited for it.
 * - `elsewhere`: the question was answered first by another way than Slack.
 * - `refused`: the job service refused it.
 * - `unsent`: the service was away for too long.
 * - `unsure`: this attempt failed, but an earlier one may have arrived.
 */
export const AnswerResult = z.enum(["taken", "late", "elsewhere", "refused", "unsent", "unsure"]);
export type AnswerResult = z.infer<typeof AnswerResult>;

/** A person's answer in Slack. It is stored before it is sent to the job service. */
export const PersonAnswer = storedObject({
  userId: z.string(),
  /** The choice's id, or null if the answer is in the person's own words. */
  choiceId: z.string().nullable(),
  /** The choice's label, or the person's words. */
  words: z.string(),
  /**
   * The message that holds the answer, by the id that a request in it would have. Absent if it came
   * from a button or a form.
   */
  saidIn: z.string().optional(),
  /** The request that this message would have been, had it not been an answer. */
  reply: Request.optional(),
  /** True once sending has begun. */
  mayBeSent: z.boolean().optional(),
  /** Absent until sending has ended. */
  result: AnswerResult.optional(),
  /** True if the agent didn't get it as an answer, and it went on as a follow-up. */
  isFollowUp: z.boolean().optional(),
});
export type PersonAnswer = z.infer<typeof PersonAnswer>;

/**
 * A question that the agent asks while its turn runs (untrusted, bounded). Its id, text and choices
 * stay as they were first reported.
 */
export const Question = storedObject({
  /** Its id at the job service. */
  id: z.string(),
  /** Its number among the turn's questions, beginning with 1. It names the post and the tasks. */
  number: z.number().int(),
  text: z.string(),
  choices: z.array(storedObject({ id: z.string(), label: z.string() })),
  /** The number of choices that were left out. */
  moreChoices: z.number().int(),
  /** True if people may answer in their own words. */
  allowsText: z.boolean(),
  answer: PersonAnswer.optional(),
  /** Why the question is closed although nobody answered it in Slack. Absent otherwise. */
  closed: z.enum(["unanswered", "elsewhere"]).optional(),
  /** The state that its message shows. Absent if it isn't posted. */
  shown: z.string().optional(),
});
export type Question = z.infer<typeof Question>;

export function isOpen({ answer, closed }: Question): boolean {
  return answer === undefined && closed === undefined;
}

/** Names what a question's message shows. The message is updated only when this changes. */
export function questionKey({ answer, closed }: Question): string {
  if (answer === undefined) return closed ?? "open";
  return answer.result === undefined || answer.result === "taken" ? "answered" : answer.result;
}

/**
 * The questions that the service reports for one turn of the job. Null if it speaks only the
 * contract.
 */
export function reportedQuestions(answer: JobServiceAnswer, turn: number | null): KnownQuestion[] | null {
  if (!answer.ok || !speaks(answer, 1) || turn === null) return null;
  return answer.report?.questions?.filter((question) => question.turn === turn) ?? null;
}

/**
 * Updates a turn's questions from the service's report. A question that is missing from the report
 * is closed, and opens again if a newer report includes it. Answers from Slack stay. Returns the
 * same array if nothing changed.
 */
export function questionsAfter(
  known: readonly Question[],
  reported: readonly KnownQuestion[],
): readonly Question[] {
  const kept = known.map((question) => {
    const current = reported.find(({ id }) => id === question.id);
    if (current === undefined) return withClosed(question, "unanswered");
    return withClosed(question, current.answeredAt === null ? undefined : "elsewhere");
  });
  const fresh = reported.filter(({ id, answeredAt }, index) => {
    const isRepeated = reported.findIndex((other) => other.id === id) !== index;
    // A question that was answered before anybody saw it needs no message.
    return !isRepeated && answeredAt === null && !known.some((question) => question.id === id);
  });
  const added = fresh
    .slice(0, Math.max(0, QUESTIONS_MAX - known.length))
    .map((question, index) => newQuestion(question, known.length + index + 1));
  const isSame = added.length === 0 && kept.every((question, index) => question === known[index]);
  return isSame ? known : [...kept, ...added];
}

/**
 * Closes the questions of a turn that has ended or is no longer watched. Returns the same array if
 * nothing changed.
 */
export function closeQuestions(questions: readonly Question[]): readonly Question[] {
  return questionsAfter(questions, []);
}

/** What happens to an answer. `known` means that the same person gave the same answer before. */
export type Answering =
  | { kind: "taken"; question: Question }
  | { kind: "known" }
  | { kind: "answered"; userId: string }
  | { kind: "closed" };

/** The choice at an index, or words. */
export type Given = { choice: number } | { text: string };

/**
 * Answers a question with the choice at an index, or in words. The first answer counts. `reply` is
 * the message that holds the answer, if there is one.
 */
export function answerQuestion(question: Question, userId: string, given: Given, reply?: Request): Answering {
  const chosen = chosenAnswer(question, userId, given);
  const answer = chosen === null || reply === undefined ? chosen : { ...chosen, saidIn: reply.id, reply };
  const { answer: before } = question;
  if (before !== undefined) {
    const isSame =
      before.userId === userId && before.choiceId === answer?.choiceId && before.words === answer.words;
    return isSame ? { kind: "known" } : { kind: "answered", userId: before.userId };
  }
  if (answer === null || !isOpen(question)) return { kind: "closed" };
  return { kind: "taken", question: { ...question, answer } };
}

/**
 * Reads a reply in words as an answer: the choice that it names, or the words themselves. Null if
 * it isn't an answer to this question.
 */
export function answerInWords({ choices, allowsText }: Question, words: string): Given | null {
  const named = choiceNamed(
    choices.map(({ label }) => label),
    words,
  );
  if (named !== null) return { choice: named.index };
  return allowsText && words.length <= ANSWER_MAX_CHARS ? { text: words } : null;
}

/**
 * Finds the choice whose label somebody typed, whatever punctuation is around it, or the only one
 * that begins with their words: "yes" finds "Yes, go ahead". `isWhole` is false for the latter.
 */
export function choiceNamed(
  labels: readonly string[],
  words: string,
): { index: number; isWhole: boolean } | null {
  const typed = words.trim().toLowerCase();
  const known = labels.map((label) => label.toLowerCase());
  const exact = known.indexOf(typed);
  if (exact !== -1) return { index: exact, isWhole: true };
  const bare = withoutPunctuation(typed);
  if (bare === "") return null;
  const [alike, ...othersAlike] = indexesOf(known, (label) => withoutPunctuation(label) === bare);
  if (alike !== undefined) return othersAlike.length === 0 ? { index: alike, isWhole: true } : null;
  const begins = (label: string) => label.startsWith(bare) && /^\P{L}/u.test(label.slice(bare.length));
  const [first, ...others] = indexesOf(known, begins);
  return first === undefined || others.length > 0 ? null : { index: first, isWhole: false };
}

function indexesOf(labels: readonly string[], isMeant: (label: string) => boolean): number[] {
  return labels.flatMap((label, index) => (isMeant(label) ? [index] : []));
}

function withoutPunctuation(text: string): string {
  return text.replaceAll(/^[\p{P}\s~`]+|[\p{P}\s~`]+$/gu, "");
}

export function sentAnswer({ choiceId, words }: PersonAnswer): QuestionAnswer {
  return choiceId === null ? { text: words } : { choice: choiceId };
}

/** True if the agent has certainly not got an answer that ended like this. */
export function isUnheard(result: AnswerResult): result is Exclude<AnswerResult, "taken" | "unsure"> {
  return result !== "taken" && result !== "unsure";
}

/** Interprets the service's response to an answer. Null means that it has to be sent again. */
export function resultOf(said: JobServiceAnswer, wasSentBefore: boolean): AnswerResult | null {
  if (said.ok) return "taken";
  const { kind, status } = said.fault;
  switch (kind) {
    case "contract":
      // The service accepted the answer, though its response breaks the contract.
      return "taken";
    case "not-created":
    case "unknown":
      return null;
    case "missing":
      return wasSentBefore ? "unsure" : "late";
    case "rejected":
      // The key may be about to be replaced. If it isn't, the watch ends the turn.
      if (status === 401 || status === 403) return null;
      if (wasSentBefore) return "unsure";
      return status === 409 ? "elsewhere" : status === 410 ? "late" : "refused";
  }
}

function newQuestion({ id, text, choices, allowsText }: KnownQuestion, number: number): Question {
  return {
    id,
    number,
    text: excerpt(text, TEXT_MAX, TEXT_MAX_LINES),
    choices: choices.slice(0, CHOICES_MAX).map((choice, index) => ({
      id: choice.id,
      label: plainLine(choice.label, LABEL_MAX) || `${index + 1}`,
    })),
    moreChoices: Math.max(0, choices.length - CHOICES_MAX),
    allowsText,
  };
}

function withClosed(question: Question, closed: "unanswered" | "elsewhere" | undefined): Question {
  if (question.answer !== undefined || question.closed === closed) return question;
  // The question was answered before its turn ended.
  if (question.closed === "elsewhere" && closed === "unanswered") return question;
  const { closed: _, ...rest } = question;
  return closed === undefined ? rest : { ...rest, closed };
}

function chosenAnswer({ choices, allowsText }: Question, userId: string, given: Given): PersonAnswer | null {
  if ("text" in given) {
    return allowsText ? { userId, choiceId: null, words: cut(given.text, ANSWER_MAX_CHARS) } : null;
  }
  const chosen = choices[given.choice];
  return chosen === undefined ? null : { userId, choiceId: chosen.id, words: chosen.label };
}
