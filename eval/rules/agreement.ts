import type { Segment } from "../page/align.ts";
import { isPage, localeOf } from "../page/blocks.ts";
import { isSame, isSameIn, type Quantity, quantitiesIn, unitsIn } from "../page/quantities.ts";
import { type Statement, statementsIn } from "../page/statements.ts";
import { codeTokens } from "../page/tokens.ts";
import { lostCells, turnedCells } from "./cells.ts";
import { laidFiles } from "./laid-files.ts";
import { listed, type Problem, type Solved } from "./solved.ts";
import { swappedLines } from "./swapped.ts";
import { hasOtherNumbers, isOfThird, nearest, turnedAgainst, withoutSameNumbers } from "./turned.ts";

/** Statements are about the same from here on. */
const ALIKE = 0.6;
/** A statement that stays may be worded anew to this degree. */
const REWORDED = 0.4;
/** Words with which a sentence tells of the past. */
const PAST =
  /\b(?:before|until|since|no longer|old(?:er)?|former(?:ly)?|was|previously|used to|renamed|still)\b/i;

/**
 * Where the reference changes something, the solution agrees with it: what the reference keeps is
 * kept, what it removes is gone, numbers with their units are the reference's, and no sentence says
 * the opposite.
 */
export function agreementProblem(solved: Solved, isFree: (text: string) => boolean): Problem {
  const found = laidFiles(solved)
    .filter(({ path, isOf }) => isOf !== "solution" && solved.after.has(path) && !isFree(path))
    .flatMap(({ path, segments, ...file }) => {
      const units = unitsIn([...file.before, ...file.reference].map(({ visible }) => visible).join("\n"));
      return segments
        .filter(({ before, reference }) => before.length + reference.length > 0)
        .flatMap((segment) => faultsOf(segment, { path, units, isFree }).map((fault) => `${path}: ${fault}`));
    });
  return listed("It disagrees with what is right:", [...new Set(found)]);
}

type Around = { path: string; units: readonly string[]; isFree: (text: string) => boolean };

function faultsOf(segment: Segment, { path, units, isFree }: Around): string[] {
  const locale = localeOf(path);
  const stated = { before: statementsIn(segment.before), reference: statementsIn(segment.reference) };
  const after = statementsIn(segment.after).filter(({ text }) => !isFree(text));
  return [
    ...lostTokens(segment, locale, isFree),
    ...after.flatMap((statement) => staleTokens(statement, segment, locale)),
    ...after
      .flatMap(({ text }) => foreignNumbers(text, segment, locale, units))
      .filter((each) => !isFree(each)),
    ...after.flatMap(({ text }) => disagreement(text, stated.reference, locale)),
    ...(isPage(path) ? lostStatements(stated, after, isFree) : []),
    ...(isPage(path) ? lostLines(segment, isFree) : []),
    ...(isPage(path) ? [...lostCells(segment), ...turnedCells(segment)] : []),
    ...(isPage(path) ? swappedLines(segment) : []),
  ];
}

const tokensIn = (blocks: Segment["after"]) => new Set(blocks.flatMap(codeTokens));
const numbersIn = (blocks: Segment["after"], locale: string): Quantity[] =>
  blocks.flatMap(({ visible }) => quantitiesIn(visible, locale));

/** What is in both, the page as it was and the reference, and not in the solution. */
function lostTokens(
  { before, reference, after }: Segment,
  locale: string,
  isFree: (text: string) => boolean,
): string[] {
  const [old, right, now] = [tokensIn(before), tokensIn(reference), tokensIn(after)];
  const tokens = [...right].filter((token) => old.has(token) && !now.has(token));
  const [past, wanted, present] = [before, reference, after].map((blocks) => numbersIn(blocks, locale));
  const numbers = (wanted ?? []).filter(
    (number) =>
      past?.some((other) => isSame(number, other)) && !present?.some((other) => isSame(number, other)),
  );
  return [...tokens, ...numbers.map(({ text }) => text)]
    .filter((each) => !isFree(each))
    .map((each) => `${each} is gone`);
}

/** What the reference takes away, and the solution still says. Telling of the past is allowed. */
function staleTokens({ text, kind }: Statement, { before, reference }: Segment, locale: string): string[] {
  if ((kind === "prose" || kind === "row") && PAST.test(text)) return [];
  const [old, right] = [tokensIn(before), tokensIn(reference)];
  const tokens = codeTokens({ kind, visible: text }).filter((token) => old.has(token) && !right.has(token));
  const [past, wanted] = [numbersIn(before, locale), numbersIn(reference, locale)];
  const numbers = quantitiesIn(text, locale).filter(
    (number) => past.some((other) => isSame(number, other)) && !wanted.some((other) => isSame(number, other)),
  );
  return [...tokens, ...numbers.map((number) => number.text)].map((each) => `still ${each}`);
}

/** Small numbers in words may count anything. */
const SMALL = 3;
/** What stands before a version, as in "since 4.2": it says when, and not what. */
const BEFORE_VERSION = /\b(?:since|before|until|as of|version|release)\s+v?$/i;

function foreignNumbers(
  text: string,
  { before, reference }: Segment,
  locale: string,
  units: readonly string[],
): string[] {
  const known = [...numbersIn(before, locale), ...numbersIn(reference, locale)];
  return quantitiesIn(text, locale)
    .filter(
      ({ dimension, value, text: written }) =>
        !(dimension === "plain" && value <= SMALL && /^\p{L}/u.test(written)),
    )
    .filter(
      ({ at, text: written }) => !(/^\d+\.\d+$/.test(written) && BEFORE_VERSION.test(text.slice(0, at))),
    )
    .filter((number) => !known.some((other) => isSameIn(number, other, units)))
    .map((number) => number.text);
}

/**
 * Numbers in another order than in the reference's statement of the same words, or its opposite.
 */
function disagreement(text: string, reference: readonly Statement[], locale: string): string[] {
  if (reference.some((other) => other.text === text)) return [];
  const alike = nearest(text, reference, ALIKE);
  if (alike === null) return [];
  const other = reference.filter((each) => hasOtherNumbers(text, each.text, locale));
  const isAsOne = reference.some((each) => !other.includes(each) && hasSameWords(each.text, text, locale));
  if (other.length > 0 && !isAsOne) return [text];
  const isWider = cellsOf(text) > cellsOf(alike.text);
  const its = isWider ? text.replace(ANSWERED, " |") : text;
  const turned = turnedAgainst(...withoutSameNumbers(its, alike.text, locale));
  const isToldOfOther = reference.some((each) => each !== alike && isOfThird(text, alike.text, each.text));
  return turned === null || isToldOfOther ? [] : [`"${text}" ${turned}`];
}

/** A cell of another column answers another question. */
const ANSWERED = / \| (?:yes|no)(?= \|)/gi;
const cellsOf = (text: string) => text.split(" | ").length;

function hasSameWords(one: string, other: string, locale: string): boolean {
  return nearest(one, [{ text: other }], 1) !== null && !hasOtherNumbers(one, other, locale);
}

function lostStatements(
  { before, reference }: { before: Statement[]; reference: Statement[] },
  after: readonly Statement[],
  isFree: (text: string) => boolean,
): string[] {
  const right = new Set(reference.map(({ text }) => text));
  return before
    .filter(({ text, kind }) => right.has(text) && (kind === "prose" || kind === "row"))
    .filter(({ text }) => !isFree(text) && nearest(text, after, REWORDED) === null)
    .map(({ text }) => `"${text}" is gone`);
}

/** Lines of samples that the reference keeps. What is joined to one in its line doesn't matter. */
function lostLines({ before, reference, after }: Segment, isFree: (text: string) => boolean): string[] {
  const [old, right] = [linesOf(before), linesOf(reference)];
  const now = linesOf(after).join("\n");
  return [...old]
    .filter((line) => {
      const wanted = Math.min(countOf(line, old), countOf(line, right));
      return wanted > 0 && /\p{L}{2}/u.test(line) && !isFree(line) && timesIn(now, line) < wanted;
    })
    .map((line) => `"${line}" is gone`);
}

/** Without the mark that joins a line to the next one. */
function linesOf(blocks: Segment["after"]): string[] {
  return blocks
    .filter(({ kind }) => kind === "sample")
    .flatMap(({ visible }) =>
      visible.split("\n").map((line) =>
        line
          .replace(/[\s,;]*[\\^`]?\s*$/, "")
          .trim()
          .replace(/\s+/g, " "),
      ),
    );
}

function countOf(line: string, lines: readonly string[]): number {
  return lines.filter((each) => each === line).length;
}

function timesIn(text: string, line: string): number {
  const whole = new RegExp(`(?<![\\w.-])${RegExp.escape(line)}(?![\\w-]|\\.\\w)`, "g");
  return [...text.matchAll(whole)].length;
}
