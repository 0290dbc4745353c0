import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  Question,
  answerInWords,
  answerQuestion,
  closeQuestions,
  isOpen,
  questionKey,
  questionsAfter,
  resultOf,
  sentAnswer,
} from "../../../src/app/rules/thread/question.ts";
import type { KnownQuestion } from "../../../src/app/rules/known-job.ts";
import { fault, found } from "../../support/builders.ts";

const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.string({ minLength: 900, maxLength: 3000 }),
);

const reported = fc.record<KnownQuestion>({
  id: fc.constantFrom("a", "b", "c", ...Array.from({ length: 30 }, (_, n) => `q${n}`)),
  turn: fc.constant(1),
  text: anyText,
  choices: fc.array(fc.record({ id: fc.constantFrom("1", "2", "3"), label: anyText }), { maxLength: 30 }),
  allowsText: fc.boolean(),
  answeredAt: fc.option(fc.constant(5), { freq: 4 }),
});

type Event =
  | { kind: "report"; told: KnownQuestion[] }
  | {
      kind: "answer";
      number: number;
      userId: string;
      given: { choice: number } | { text: string };
    }
  | { kind: "end" };

const events = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("report" as const), told: fc.array(reported, { maxLength: 12 }) }),
    fc.record({
      kind: fc.constant("answer" as const),
      number: fc.integer({ min: 1, max: 22 }),
      userId: fc.constantFrom("U1", "U2"),
      given: fc.oneof(
        fc.record({ choice: fc.integer({ min: -1, max: 30 }) }),
        fc.record({ text: fc.string({ maxLength: 5000 }) }),
      ),
    }),
    fc.record({ kind: fc.constant("end" as const) }),
  ),
  { maxLength: 30 },
);

function apply(questions: readonly Question[], event: Event): readonly Question[] {
  switch (event.kind) {
    case "report":
      return questionsAfter(questions, event.told);
    case "end":
      return closeQuestions(questions);
    case "answer":
      return questions.map((question) => {
        if (question.number !== event.number) return question;
        const answered = answerQuestion(question, event.userId, event.given);
        return answered.kind === "taken" ? answered.question : question;
      });
  }
}

describe("the questions of a turn, after any reports and answers in any order", () => {
  it("are numbered as they came, bounded, and keep their words and their first answer", () => {
    fc.assert(
      fc.property(events, (all) => {
        let questions: readonly Question[] = [];
        for (const event of all) {
          const next = apply(questions, event);
          expect(next.map(({ number }) => number)).toEqual(next.map((_, index) => index + 1));
          expect(next.length).toBeLessThanOrEqual(20);
          expect(new Set(next.map(({ id }) => id)).size).toBe(next.length);
          for (const before of questions) {
            const after = next[before.number - 1];
            const { id, text, choices } = before;
            expect(after).toMatchObject({ id, text, choices });
            if (before.answer !== undefined) expect(after).toEqual(before);
            if (before.closed === "elsewhere" && event.kind === "end") expect(after).toEqual(before);
          }
          // What is stored can be read again.
          for (const question of next) expect(Question.parse(structuredClone(question))).toEqual(question);
          questions = next;
        }
      }),
    );
  });

  it("are open just where the last report names them as unanswered, and nobody has answered in Slack", () => {
    fc.assert(
      fc.property(events, fc.array(reported, { maxLength: 12 }), (all, told) => {
        const before = all.reduce(apply, []);
        const after = questionsAfter(before, told);
        for (const question of after) {
          const named = told.find(({ id }) => id === question.id);
          expect(isOpen(question)).toBe(named?.answeredAt === null && question.answer === undefined);
        }
        // The same report again changes nothing, and nor does an end after the end.
        expect(questionsAfter(after, told)).toBe(after);
        const ended = closeQuestions(after);
        expect(ended.some(isOpen)).toBe(false);
        expect(closeQuestions(ended)).toBe(ended);
      }),
    );
  });

  it("fit what shows them", () => {
    fc.assert(
      fc.property(fc.array(reported, { maxLength: 12 }), (told) => {
        for (const { text, choices, moreChoices } of questionsAfter([], told)) {
          expect(text.length).toBeLessThanOrEqual(1000);
          expect(choices.length).toBeLessThanOrEqual(24);
          for (const { label } of choices) expect(label).toMatch(/^.{1,150}$/su);
          expect(moreChoices === 0 || choices.length === 24).toBe(true);
        }
      }),
    );
  });
});

describe("an answer", () => {
  const [question] = questionsAfter(
    [],
    [
      {
        id: "q",
        turn: 1,
        text: "Which?",
        choices: [{ id: "1", label: "This" }],
        allowsText: false,
        answeredAt: null,
      },
    ],
  );
  if (question === undefined) throw new Error("nothing is asked");

  it("is one that the question offers", () => {
    const kinds = [{ choice: 0 }, { choice: 1 }, { choice: -1 }, { text: "both" }].map(
      (given) => answerQuestion(question, "U1", given).kind,
    );
    expect(kinds).toEqual(["taken", "closed", "closed", "closed"]);
  });

  it("is the first one; the same again is the same", () => {
    const taken = answerQuestion(question, "U1", { choice: 0 });
    if (taken.kind !== "taken") throw new Error(taken.kind);
    expect(answerQuestion(taken.question, "U1", { choice: 0 })).toEqual({ kind: "known" });
    expect(answerQuestion(taken.question, "U2", { choice: 0 })).toEqual({ kind: "answered", userId: "U1" });
    expect(taken.question.answer && sentAnswer(taken.question.answer)).toEqual({ choice: "1" });
    expect(questionKey(taken.question)).toBe("answered");
  });

  it.each([
    ["taken", found(), false, "taken"],
    ["taken in words of its own", fault("contract", { status: 200 }), true, "taken"],
    ["not sent", fault("not-created", { status: 503 }), true, null],
    ["lost", fault("unknown"), false, null],
    ["sent with a key that is being exchanged", fault("rejected", { status: 401 }), false, null],
    ["sent to a question that is gone", fault("missing", { status: 404 }), false, "late"],
    ["sent again to a question that is gone", fault("missing", { status: 404 }), true, "unsure"],
    ["sent to a question that has another answer", fault("rejected", { status: 409 }), false, "elsewhere"],
    ["sent to a question that is over", fault("rejected", { status: 410 }), false, "late"],
    ["sent, and not understood", fault("rejected", { status: 400 }), false, "refused"],
    ["sent again, and not understood", fault("rejected", { status: 400 }), true, "unsure"],
  ] as const)("that was %s", (_, said, wasSentBefore, result) => {
    expect(resultOf(said, wasSentBefore)).toBe(result);
  });
});

describe("a reply", () => {
  const labels = ["Yes, go ahead", "Yes, always", "No, leave it", "faq.md"];
  const choices = labels.map((label, n) => ({ id: `${n}`, label }));
  const question = { id: "q", number: 1, text: "Shall I?", choices, moreChoices: 0, allowsText: false };

  it.each([
    ["yes, GO ahead", { choice: 0 }],
    [" No ", { choice: 2 }],
    ["faq", { choice: 3 }],
    ["yes", null],
    ["n", null],
    ["the pricing page", null],
    ["", null],
  ])("of the words %j", (words, answer) => {
    expect(answerInWords(question, words)).toEqual(answer);
    expect(answerInWords({ ...question, allowsText: true }, words)).toEqual(answer ?? { text: words });
  });
});
