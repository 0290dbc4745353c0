import type { KnownQuestion } from "../src/app/rules/known-job.ts";
import type { QuestionAnswer } from "../src/shared/contract/question.ts";

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
