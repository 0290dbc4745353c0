import type { MessageOf } from "../src/app/rules/ports/notifier.ts";
import { AnswerResult, questionsAfter } from "../src/app/rules/thread/question.ts";
import type { PersonAnswer, Question } from "../src/app/rules/thread/question.ts";
import { BEN, LONG, NOON, UNBROKEN, makeUpTurn } from "./made-up.ts";

type QuestionMessage = MessageOf<"question">;

const turn = makeUpTurn({ name: "watching", since: NOON, troubleSince: null });

function asked(text: string, labels: readonly string[], allowsText: boolean): Question {
  const choices = labels.map((label, index) => ({ id: `${index}`, label }));
  const told = { id: "q-1", turn: 1, text, choices, allowsText, answeredAt: null };
  const [question] = questionsAfter([], [told]);
  if (question === undefined) throw new TypeError("Nothing is asked.");
  return question;
}

/** A question with two choices, and below it the longest question that there can be. */
export const shortQuestion = asked("Which page do you mean?", ["Install", "Quickstart"], true);
const answer: PersonAnswer = { userId: BEN, choiceId: "1", words: "Quickstart" };
export const longestQuestion = asked(
  LONG,
  Array.from({ length: 30 }, () => LONG),
  true,
);

/** Questions of the agent and their ends. A new result of an answer is included by itself. */
const questions: [string, Question, string | null][] = [
  ["choices and words", shortQuestion, null],
  ["choices alone", { ...shortQuestion, allowsText: false }, null],
  ["words alone", { ...shortQuestion, choices: [] }, null],
  ["no way to answer", { ...shortQuestion, choices: [], allowsText: false }, null],
  [
    "long choices",
    asked("Which of them?", ["The page that says how to install it", "The quickstart"], false),
    null,
  ],
  ["longest", longestQuestion, "not_in_channel"],
  ["being sent", { ...shortQuestion, answer }, null],
  ...AnswerResult.options.map((result): [string, Question, null] => [
    result,
    { ...shortQuestion, answer: { ...answer, result } },
    null,
  ]),
  [
    "longest answer",
    { ...longestQuestion, answer: { ...answer, choiceId: null, words: UNBROKEN, result: "refused" } },
    "not_in_channel",
  ],
  [
    "too late, and sent as a follow-up",
    { ...shortQuestion, answer: { ...answer, result: "late", isFollowUp: true } },
    null,
  ],
  ["nobody answered", { ...shortQuestion, closed: "unanswered" }, null],
  ["answered elsewhere", { ...shortQuestion, closed: "elsewhere" }, null],
];

/** A turn whose agent waits for an answer. */
export const askingTurn = { ...turn, questions: [shortQuestion] };

export const questionSamples = questions.map(([name, question, away]): [string, QuestionMessage] => [
  name,
  { kind: "question", turn, question, movedBecause: away },
]);

const stop = { userId: BEN, at: NOON };

/** Samples of the message to a person whose answer the agent didn't get, or may not have got. */
export const unheardSamples: [string, MessageOf<"unheard">][] = [
  ...AnswerResult.exclude(["taken"]).options.map((result): [string, MessageOf<"unheard">] => [
    `unheard: ${result}`,
    { kind: "unheard", turn, question: { ...shortQuestion, answer: { ...answer, result } } },
  ]),
  [
    "unheard: stopped",
    {
      kind: "unheard",
      turn: { ...turn, stop },
      question: { ...shortQuestion, answer: { ...answer, result: "late" } },
    },
  ],
  [
    "unheard: longest",
    {
      kind: "unheard",
      turn,
      question: { ...longestQuestion, answer: { ...answer, words: UNBROKEN, result: "late" } },
    },
  ],
];
