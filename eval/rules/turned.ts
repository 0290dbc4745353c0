import { isSame, type Quantity, quantitiesIn } from "../page/quantities.ts";

/** Words that turn a sentence into its opposite. */
const NOT =
  /^(?:not|no|never|none|nothing|neither|nor|without|cannot|hardly|nicht|kein|keine|nie|ohne|\w+n't)$/;
/** Words of which one can't stand in the other's place. */
const OPPOSITES: readonly (readonly string[])[] = [
  ["newer", "older", "later", "earlier", "newest", "oldest", "latest"],
  ["before", "after"],
  ["if", "unless"],
  ["must", "may"],
  ["include", "exclude", "includes", "excludes", "included", "excluded"],
  ["first", "last"],
  ["more", "less", "fewer"],
  ["most", "least"],
  ["minimum", "maximum", "min", "max"],
  ["true", "false"],
  ["on", "off"],
  ["required", "optional", "needed"],
  ["start", "stop", "starts", "stops", "started", "stopped"],
  ["pause", "resume", "pauses", "resumes"],
  ["enable", "disable", "enabled", "disabled"],
  ["left", "right"],
  ["top", "bottom"],
  ["with", "without"],
  ["always", "never"],
  ["all", "none"],
  ["allow", "deny", "block", "allowed", "denied", "blocked"],
  ["through", "stopped"],
  ["read", "write", "reads", "writes"],
  ["above", "below"],
  ["upload", "download", "uploads", "downloads"],
  ["add", "remove", "delete", "adds", "removes", "deletes"],
  ["millisecond", "second", "minute", "hour", "day", "week", "month", "year"],
  ["milliseconds", "seconds", "minutes", "hours", "days", "weeks", "months", "years"],
];
const SIDES = new Map(OPPOSITES.flatMap((words, nth) => words.map((word) => [word, nth] as const)));

/** Words that limit a sentence to what they stand beside. */
const LIMIT = /^(?:only|just|solely|exclusively|alone|nur)$/;
/** Words for one end of a range, and for the other. */
const ENDS: readonly RegExp[] = [
  /\b(?:longest|highest|largest|biggest|greatest|maximum|max|at most|up to)\b/i,
  /\b(?:shortest|lowest|smallest|least|minimum|min|fewest)\b/i,
];

/** True if one text names the one end of a range alone, and the other text the other end. */
export function isOtherEnd(one: string, other: string): boolean {
  const [end, otherEnd] = [one, other].map((text) => {
    const named = ENDS.filter((pattern) => pattern.test(text));
    return named.length === 1 ? named[0] : undefined;
  });
  return end !== undefined && otherEnd !== undefined && end !== otherEnd;
}

/**
 * True if the words in which a statement differs from another are a third one's: what "with" and
 * "without" do may be told in either order.
 */
export function isOfThird(text: string, other: string, third: string): boolean {
  const known = new Set(wordsOf(third));
  const only = without(wordsOf(text), wordsOf(other));
  return only.every((word) => known.has(word)) && only.some((word) => !NOT.test(word) && !SIDES.has(word));
}

const NUMBER = /(?:\d+(?:[.,_]\d+)*)/g;

/** The words of a statement, without numbers. */
export function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .replace(/`[^`]*`/g, (code) => code.replace(/\s+/g, "\u00a0"))
    .replace(NUMBER, " # ")
    .split(/[^\p{L}\d'#`_\u00a0-]+/u)
    .filter((word) => /[\p{L}#]/u.test(word));
}

/** How alike two lists of words are, from 0 to 1. */
export function likeness(one: readonly string[], other: readonly string[]): number {
  const left = counted(other);
  let common = 0;
  for (const word of one) {
    const count = left.get(word) ?? 0;
    if (count === 0) continue;
    common += 1;
    left.set(word, count - 1);
  }
  return one.length + other.length === 0 ? 1 : (2 * common) / (one.length + other.length);
}

/** The most alike of some statements, or null if none is alike enough. */
export function nearest<Item extends { text: string }>(
  text: string,
  others: readonly Item[],
  enough: number,
): Item | null {
  const words = wordsOf(text);
  let best: { item: Item; score: number } | null = null;
  for (const item of others) {
    const score = item.text === text ? 2 : likeness(words, wordsOf(item.text));
    if (score >= enough && score > (best?.score ?? 0)) best = { item, score };
  }
  return best?.item ?? null;
}

/** With more different words, two statements say different things. */
const MAX_DIFFERENT = 3;

/**
 * Why a statement says the opposite of another that is worded almost the same. Null if it doesn't.
 */
export function turnedAgainst(text: string, other: string): string | null {
  const [its, others] = [wordsOf(text), wordsOf(other)];
  const [only, missing] = [without(its, others), without(others, its)];
  const isInflected = (word: string, words: readonly string[]) =>
    words.some((each) => stemOf(each) === stemOf(word));
  const different = [
    ...only.filter((word) => !isInflected(word, missing)),
    ...missing.filter((word) => !isInflected(word, only)),
  ].filter((word) => !NOT.test(word) && !SIDES.has(word));
  if (different.length > MAX_DIFFERENT) return null;
  const negations = (words: readonly string[]) => words.filter((word) => NOT.test(word)).length;
  if ((negations(only) + negations(missing)) % 2 === 1) return "says the opposite";
  const limits = (words: readonly string[]) => words.some((word) => LIMIT.test(word));
  if (different.every((word) => LIMIT.test(word)) && limits(only) !== limits(missing))
    return limits(only) ? "limits it" : "doesn't limit it";
  const swapped = only
    .filter((word) => SIDES.has(word) && !isInflected(word, missing))
    .find((word) => missing.some((gone) => SIDES.get(word) === SIDES.get(gone) && !isInflected(gone, only)));
  return swapped === undefined ? null : `says "${swapped}"`;
}

/** True if two statements have the same words, and other numbers or the same in another order. */
export function hasOtherNumbers(text: string, other: string, locale: string): boolean {
  if (wordsOf(text).join(" ") !== wordsOf(other).join(" ")) return false;
  const [its, others] = [quantitiesIn(text, locale), quantitiesIn(other, locale)];
  return its.length !== others.length || its.some((one, nth) => !isSame(one, others[nth] ?? one));
}

/** Two statements without their numbers and units, if these are the same in both. */
export function withoutSameNumbers(one: string, other: string, locale: string): [string, string] {
  const [its, others] = [quantitiesIn(one, locale), quantitiesIn(other, locale)];
  const isSameInBoth =
    its.length === others.length && its.every((number, nth) => isSame(number, others[nth] ?? number));
  return isSameInBoth ? [withoutThem(one, its), withoutThem(other, others)] : [one, other];
}

function withoutThem(text: string, numbers: readonly Quantity[]): string {
  return numbers
    .toReversed()
    .reduce((rest, { at, text: written }) => `${rest.slice(0, at)}#${rest.slice(at + written.length)}`, text);
}

const stemOf = (word: string) => word.slice(0, 4);

function without(words: readonly string[], others: readonly string[]): string[] {
  const left = counted(others);
  return words.filter((word) => {
    const count = left.get(word) ?? 0;
    left.set(word, count - 1);
    return count <= 0;
  });
}

function counted(words: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}
