import { z } from "zod";
import type { ReportedQuestion, JobServiceAnswer, QuestionAnswer } from "../ports/job-service.ts";
import { storedObject } from "../ports/stored-object.ts";
import { cut, excerpt, plainLine } from "../text/text.ts";

/** How much is kept of a question, in UTF-16 units: as much as a message shows. */
const TEXT_MAX = 1000;
const TEXT_MAX_LINES = 20;
const LABEL_MAX = 150;
/** As many buttons as Slack takes in one block, one for an answer in words left out. */
const CHOICES_MAX = 24;
/**
 * How many questions of one turn are asked: our own job service lets one run of an agent ask so
 * many.
 */
const QUESTIONS_MAX = 20;

/**
 * The most UTF-16 units that a person may answer in words: Slack's own limit for a text field,
 * below that of our job service.
 */
export const ANSWER_MAX_CHARS = 3000;

/**
 * How the sending of an answer ended.
 *
 * - `taken`: the agent has it.
 * - `late`: the agent no longer waited for it. `elsewhere`: it got another answer first, by another
 *   way than Slack.
 * - `refused`: the job service didn't take it. `unsent`: the service was away for too long.
 * - `unsure`: one of these, but an earlier attempt may have arrived.
 */
export const AnswerResult = z.enum(["taken", "late", "elsewhere", "refused", "unsent", "unsure"]);
export type AnswerResult = z.infer<typeof AnswerResult>;

/** What a person answered in Slack: kept before the job service is told. */
export const PersonAnswer = storedObject({
  userId: z.string(),
  /** The choice's id; null: it is in words of their own. */
  choiceId: z.string().nullable(),
  /** The choice's label, or all the words. */
  words: z.string(),
  /**
   * The message that it was said in, by the id that a request in it would have; absent: a button or
   * a form.
   */
  saidIn: z.string().optional(),
  /** It is being sent, or was. */
  mayBeSent: z.boolean().optional(),
  /** Absent: it is still to be sent. */
  result: AnswerResult.optional(),
});
export type PersonAnswer = z.infer<typeof PersonAnswer>;

/**
 * Something that the agent asks while its turn runs: untrusted, bounded. Its id, text and choices
 * stay as they were first told.
 */
export const Question = storedObject({
  /** At the job service. */
  id: z.string(),
  /** Its place among the turn's questions; 1 is the first. It names the post and the tasks. */
  number: z.number().int(),
  text: z.string(),
  choices: z.array(storedObject({ id: z.string(), label: z.string() })),
  /** How many choices there were besides. */
  moreChoices: z.number().int(),
  /** Whether words of one's own are an answer. */
  allowsText: z.boolean(),
  answer: PersonAnswer.optional(),
  /**
   * Why it takes no answer, although nobody gave one in Slack; absent: it takes one, or has one.
   */
  closed: z.enum(["unanswered", "elsewhere"]).optional(),
  /** The state that its message shows; absent: it isn't posted. */
  shown: z.string().optional(),
});
export type Question = z.infer<typeof Question>;

/** Whether it waits for an answer. */
export function isOpen({ answer, closed }: Question): boolean {
  return answer === undefined && closed === undefined;
}

/**
 * Names what a question's message shows: as long as it stays the same, the message is not touched.
 */
export function questionKey({ answer, closed }: Question): string {
  if (answer === undefined) return closed ?? "open";
  return answer.result === undefined || answer.result === "taken" ? "answered" : answer.result;
}

/**
 * The questions that an answer tells of the job's turn of that number; null where the service does
 * not announce that it tells of questions.
 */
export function toldQuestions(answer: JobServiceAnswer, turn: number | null): ReportedQuestion[] | null {
  if (!answer.ok || answer.capabilities?.includes("questions") !== true || turn === null) return null;
  return answer.report?.questions?.filter((question) => question.turn === turn) ?? null;
}

/**
 * A turn's questions after the job service has told of them. One that it doesn't name any more is
 * closed, and open again if it is named again, as by an answer that is newer than the one before.
 * An answer from Slack stays. The same array when nothing changed.
 */
export function questionsAfter(
  known: readonly Question[],
  told: readonly ReportedQuestion[],
): readonly Question[] {
  const kept = known.map((question) => {
    const current = told.find(({ id }) => id === question.id);
    return withClosed(question, current === undefined ? "unanswered" : closedBy(current));
  });
  const unknown = told.filter(({ id }, index) => {
    const isRepeated = told.findIndex((other) => other.id === id) !== index;
    return !isRepeated && !known.some((question) => question.id === id);
  });
  // One that was answered before anybody saw it asks nothing.
  const fresh = unknown.filter((question) => closedBy(question) === undefined);
  const added = fresh
    .slice(0, Math.max(0, QUESTIONS_MAX - known.length))
    .map((question, index) => newQuestion(question, known.length + index + 1));
  const isSame = added.length === 0 && kept.every((question, index) => question === known[index]);
  return isSame ? known : [...kept, ...added];
}

/**
 * The questions of a turn that has ended, or isn't watched any more. The same array when nothing
 * changed.
 */
export function closeQuestions(questions: readonly Question[]): readonly Question[] {
  return questionsAfter(questions, []);
}

/**
 * What becomes of an answer to a question. `known`: the same was given before, by the same person.
 */
export type Answering =
  | { kind: "taken"; question: Question }
  | { kind: "known" }
  | { kind: "answered"; userId: string }
  | { kind: "closed" };

/**
 * A question after a person has answered it: with the choice at that place, or in words. The first
 * answer counts.
 */
export function answerQuestion(
  question: Question,
  userId: string,
  given: { choice: number } | { text: string },
  saidIn?: string,
): Answering {
  const chosen = answerOf(question, userId, given);
  const answer = chosen === null || saidIn === undefined ? chosen : { ...chosen, saidIn };
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
 * A reply in words as an answer: the choice that it names, or the words themselves. Null: it
 * answers nothing.
 */
export function answerInWords(
  { choices, allowsText }: Question,
  words: string,
): { choice: number } | { text: string } | null {
  const choice = choiceNamed(
    choices.map(({ label }) => label),
    words,
  );
  if (choice !== -1) return { choice };
  return allowsText && words.length <= ANSWER_MAX_CHARS ? { text: words } : null;
}

/**
 * The place of the label that somebody typed, or the only one that begins with their words: "yes"
 * is "Yes, go ahead". -1: none.
 */
function choiceNamed(labels: readonly string[], words: string): number {
  const typed = words.trim().toLowerCase();
  const known = labels.map((label) => label.toLowerCase());
  const exact = known.indexOf(typed);
  if (exact !== -1 || typed === "") return exact;
  const [first, ...others] = known.flatMap((label, n) =>
    label.startsWith(typed) && /^\P{L}/u.test(label.slice(typed.length)) ? [n] : [],
  );
  return first === undefined || others.length > 0 ? -1 : first;
}

/** The answer as it goes to the job service. */
export function sentAnswer({ choiceId, words }: PersonAnswer): QuestionAnswer {
  return choiceId === null ? { text: words } : { choice: choiceId };
}

/**
 * How the sending of an answer ended, by what the job service said to it. Null: it is to be sent
 * again.
 */
export function resultOf(said: JobServiceAnswer, wasSentBefore: boolean): AnswerResult | null {
  if (said.ok) return "taken";
  const { kind, status } = said.fault;
  switch (kind) {
    case "contract":
      // It said yes, in a way of its own.
      return "taken";
    case "not-created":
    case "unknown":
      return null;
    case "missing":
      return wasSentBefore ? "unsure" : "late";
    case "rejected":
      // A key that is being exchanged: the watch ends the turn if it stays so.
      if (status === 401 || status === 403) return null;
      if (wasSentBefore) return "unsure";
      return status === 409 ? "elsewhere" : status === 410 ? "late" : "refused";
  }
}

function newQuestion({ id, text, choices, allowsText }: ReportedQuestion, number: number): Question {
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

function closedBy({ answeredAt }: ReportedQuestion): "elsewhere" | undefined {
  return answeredAt === null ? undefined : "elsewhere";
}

function withClosed(question: Question, closed: "unanswered" | "elsewhere" | undefined): Question {
  if (question.answer !== undefined || question.closed === closed) return question;
  // It was answered, and its turn has ended since.
  if (question.closed === "elsewhere" && closed === "unanswered") return question;
  const { closed: _, ...rest } = question;
  return closed === undefined ? rest : { ...rest, closed };
}

function answerOf(
  { choices, allowsText }: Question,
  userId: string,
  given: { choice: number } | { text: string },
): PersonAnswer | null {
  if ("text" in given) {
    return allowsText ? { userId, choiceId: null, words: cut(given.text, ANSWER_MAX_CHARS) } : null;
  }
  const chosen = choices[given.choice];
  return chosen === undefined ? null : { userId, choiceId: chosen.id, words: chosen.label };
}
