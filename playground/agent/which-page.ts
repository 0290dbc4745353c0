import { distanceOf, stemOf } from "./links.ts";
import { namedPages } from "./understanding.ts";

/**
 * Asks a person a question, with choices or for an answer in words. Resolves to null if nobody
 * answers.
 */
export type Ask = (question: string, choices?: readonly string[]) => Promise<string | null>;

const OFFERED = 4;
const ANOTHER = "Another page";

/**
 * Asks which page is meant if a request names one that doesn't exist. Resolves to null if nobody
 * answers, or if the page of the answer doesn't exist either.
 */
export async function askWhichPage(
  missing: string,
  pages: readonly string[],
  ask: Ask,
): Promise<string | null> {
  const distance = (page: string) => distanceOf(stemOf(page), stemOf(missing));
  const nearest = pages.toSorted((one, other) => distance(one) - distance(other)).slice(0, OFFERED);
  const chosen = await ask(`There is no page “${missing}”. Which one do you mean?`, [...nearest, ANOTHER]);
  if (chosen !== ANOTHER) return chosen;
  const words = await ask("Which page? Type its name.");
  return words === null ? null : (namedPages(`in the ${words}`, pages)[0] ?? null);
}
