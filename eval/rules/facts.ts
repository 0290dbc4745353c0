import { localeOf } from "../page/blocks.ts";
import { isSame, type Quantity, quantitiesIn } from "../page/quantities.ts";
import { sentencesOf, statementsOf } from "../page/statements.ts";
import type { NamedClaim, Problem } from "./solved.ts";
import { listed } from "./solved.ts";

/** What is true of a subject. `also` has other values that a sentence about it may name. */
export type Fact = { value: string; also: readonly string[]; about: RegExp | null; except: RegExp | null };

/** Telling of the past, or of what isn't so. */
const UNASSERTED = new RegExp(
  `\\b(?:${[
    "not|nowhere|isn't|aren't|wasn't|no longer|never|instead of|rather than|wrong|was|were|used to|until",
    "before|formerly|previously|earlier|older?|remember(?:ed)?|thought|claim(?:ed|s)?|guess(?:ed)?|reported",
  ].join("|")})\\b`,
  "i",
);
const DENIED = /\b(?:not|never|no longer)\b|n't\b/i;

/** A value as a task writes it, such as `250 per minute`. Null if it isn't a number. */
export function valueOf(text: string): Quantity | null {
  return quantitiesIn(text)[0] ?? null;
}

/**
 * On each of these pages, a sentence, row or line about the subject names the value with its unit,
 * in whatever form, and none names another one.
 */
export function factProblem(pages: readonly (readonly [path: string, text: string])[], fact: Fact): Problem {
  const value = valueOf(fact.value);
  if (value === null || pages.length === 0)
    return pages.length === 0 ? "There is no such page." : "The value isn't a number.";
  const allowed = [value, ...fact.also.flatMap((text) => valueOf(text) ?? [])];
  const faults = pages.flatMap(([path, text]) => {
    const locale = localeOf(path);
    const about = statementsOf(path, text).filter(
      (statement) => fact.about?.test(statement.text) !== false && fact.except?.test(statement.text) !== true,
    );
    const named = about.map((statement) => ({
      statement,
      numbers: quantitiesIn(statement.text, locale).filter((number) => isComparable(number, value)),
    }));
    const isSaid = named.some(({ numbers }) => numbers.some((number) => isSame(number, value)));
    const denied = about.filter(({ text: stated }) =>
      clausesOf(stated).some(
        (clause) =>
          DENIED.test(clause) && quantitiesIn(clause, locale).some((number) => isSame(number, value)),
      ),
    );
    const others = named.filter(
      ({ statement, numbers }) =>
        !UNASSERTED.test(statement.text) &&
        numbers.some((number) => !allowed.some((each) => isSame(number, each))),
    );
    return [
      ...(isSaid ? [] : [`${path} doesn't say ${fact.value}`]),
      ...others.map(({ statement }) => `${path}: ${statement.text}`),
      ...denied.map((statement) => `${path} denies it: ${statement.text}`),
    ];
  });
  return listed("What is said of it isn't right:", faults);
}

/** A number without a unit says the value, or it counts something else. */
function isComparable(number: Quantity, value: Quantity): boolean {
  return (
    number.dimension === value.dimension ||
    value.dimension === "plain" ||
    (number.dimension === "plain" && isSame(number, value))
  );
}

/** Where one part of a sentence ends, and another says something else. */
const PART = /[;\n]|,(?!\d)|\b(?:and|but|while|whereas|or|so)\b/;
/** Within a part, what may be denied or true by itself. */
const CLAUSE = /[:()]|\s[–—-]\s/;

/**
 * The agent's words, or a claim of its, name the value, and none names another one as true. With
 * `about`, only the number nearest to each of its mentions counts.
 */
export function answerProblem(words: string, claims: readonly NamedClaim[], fact: Fact): Problem {
  const value = valueOf(fact.value);
  if (value === null) return "The value isn't a number.";
  const allowed = [value, ...fact.also.flatMap((text) => valueOf(text) ?? [])];
  const said = [
    ...claims.map(({ statement, source }) => `${statement} (${source.repository})`),
    ...sentences(words),
  ].flatMap((sentence) =>
    fact.about === null ? clauseNumbers(sentence, value, fact) : mentionNumbers(sentence, value, fact.about),
  );
  const wrong = said.filter((number) => !allowed.some((each) => isSame(number, each)));
  if (!said.some((number) => isSame(number, value))) return `The agent doesn't say ${fact.value}.`;
  return listed(
    "The agent says something else, too:",
    wrong.map(({ text }) => text),
  );
}

function sentences(words: string): string[] {
  return words.split("\n").flatMap((line) => sentencesOf(line.trim()));
}

function clauseNumbers(sentence: string, value: Quantity, { except }: Fact): Quantity[] {
  return sentence
    .split(PART)
    .filter((part) => except?.test(part) !== true)
    .flatMap((part) => part.split(CLAUSE))
    .filter((clause) => !UNASSERTED.test(clause))
    .flatMap((clause) => quantitiesIn(clause).filter((number) => isComparable(number, value)));
}

function clausesOf(sentence: string): string[] {
  return sentence.split(PART).flatMap((part) => part.split(CLAUSE));
}

/** More than the length of a sentence: a number belongs to another mention. */
const APART = 1000;

function mentionNumbers(sentence: string, value: Quantity, about: RegExp): Quantity[] {
  const mentions = [...sentence.matchAll(everywhere(about))].map(({ 0: text, index }) => ({
    from: index,
    to: index + text.length,
  }));
  const numbers = quantitiesIn(sentence).filter(
    (number) =>
      isComparable(number, value) && !mentions.some(({ from, to }) => number.at >= from && number.at < to),
  );
  return mentions.flatMap(({ from, to }) => {
    const distance = (number: Quantity) => {
      const between =
        number.at < from
          ? sentence.slice(number.at + number.text.length, from)
          : sentence.slice(to, number.at);
      const isApart = /\b(?:and|but|or|while)\b|[;.\n]/.test(between);
      return between.length + (isApart ? APART : between.includes(",") ? APART / 2 : 0);
    };
    const nearest = numbers.toSorted((one, other) => distance(one) - distance(other))[0];
    const next = nearest && numbers[numbers.indexOf(nearest) + 1];
    const between = next && sentence.slice(nearest.at + nearest.text.length, next.at);
    // `7 to 180 days` are two values of one range.
    if (nearest === undefined || distance(nearest) >= APART) return [];
    return [nearest, next && /^\s*(?:to|–|-|and)\s*$/.test(between ?? "") ? next : []].flat();
  });
}

/** A pattern that finds all of its matches. */
export function everywhere({ source, flags }: RegExp): RegExp {
  return new RegExp(source, `${flags.replace("g", "")}g`);
}
