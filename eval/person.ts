import type { KnownQuestion, KnownTurn } from "../src/app/rules/known-job.ts";
import type { QuestionAnswer } from "../src/shared/contract/question.ts";
import type { Task } from "./task.ts";

/** What a task's person types. */
export type Typed = Pick<Task, "request" | "answer" | "followUps" | "expects">;

/** What a person says who doesn't know it either. */
const UNSURE = "I don't know. Leave out what you can't find in the docs or the code.";
const REFUSING = /^(?:no|reject|deny|decline|cancel|skip)\b/i;

/**
 * A person's answer to an agent's question: the task's words, or the choice that they contain. If
 * none fits, they refuse, or don't know. Null if there is nothing to choose.
 */
export function answerTo(
  { choices, allowsText }: Pick<KnownQuestion, "choices" | "allowsText">,
  words: string | null,
): QuestionAnswer | null {
  const said = words?.toLowerCase() ?? "";
  const fitting = choices.find(({ label }) => label !== "" && said.includes(label.toLowerCase()));
  if (fitting !== undefined) return { choice: fitting.id };
  if (allowsText) return { text: words ?? UNSURE };
  const refusing = choices.find(({ label }) => REFUSING.test(label)) ?? choices.at(-1);
  return refusing === undefined ? null : { choice: refusing.id };
}

/** All that the person types, in its order. */
export function typedWords({ request, answer, followUps }: Typed): string[] {
  return [request, ...(answer === undefined ? [] : [answer]), ...followUps];
}

/**
 * What the person types when a job's newest turn has ended: the answer, if the first turn changed
 * nothing because something isn't known, and then each follow-up. Null if that was all.
 */
export function nextMessage(
  { answer, followUps, expects }: Typed,
  turns: readonly Pick<KnownTurn, "outcome">[],
): string | null {
  const isAsked = answer !== undefined && expects === "change" && turns[0]?.outcome === "no-changes";
  const messages = isAsked ? [answer, ...followUps] : followUps;
  return messages[turns.length - 1] ?? null;
}
