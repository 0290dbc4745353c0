import { type Block, blocksOf } from "../page/blocks.ts";
import { isSame, quantitiesIn } from "../page/quantities.ts";
import { everywhere, valueOf } from "./facts.ts";
import { listed, type Problem } from "./solved.ts";

/** What is said, under a heading, of one of two things that are easily mixed up. */
export type SaidOf = {
  under: RegExp;
  /** What is said: words, or a value with its unit. */
  matches: RegExp | null;
  value: string | null;
  of: RegExp;
  not: RegExp;
};

/** Said of the thing, of the other one, or of nothing that is named. */
type Subject = "of" | "not" | null;
type Mention = { subject: Subject; from: number; to: number };

const DENIED =
  /\b(?:not|never|instead of|rather than|unlike)\s+(?:into\s+|for\s+)?(?:the|an?|your|this)?\s*[*_`"]*$/i;
const SENTENCE = /(?<=[.!?:][)*_`"]*)\s+(?=["*_`(]*[\p{Lu}\d])/u;
const CLAUSE = new RegExp(
  String.raw`${SENTENCE.source}|(?<=[;,])\s+|\s+(?=(?:and|but|while|whereas)\b)`,
  "u",
);

/**
 * It is said at least once, and each time of the right thing: the one that the same clause or
 * sentence names, or else the last one before. In a table, the cell's column or row names it.
 */
export function saidOfProblem(
  pages: readonly (readonly [path: string, text: string])[],
  said: SaidOf,
): Problem {
  const faults = pages.flatMap(([path, text]) => {
    const blocks = sectionOf(blocksOf(path, text), said.under);
    const subjects = subjectsIn(blocks, said);
    if (subjects.length === 0) return [`${path} doesn't say it`];
    return subjects.flatMap(({ subject, words }) => (subject === "of" ? [] : [`${path}: ${words}`]));
  });
  return listed("It isn't said, or of something else:", faults);
}

function sectionOf(blocks: readonly Block[], under: RegExp): Block[] {
  const depth = ({ kind, form }: Block) => (kind === "heading" ? form.indexOf(" ") : Infinity);
  const start = blocks.findIndex((block) => block.kind === "heading" && under.test(block.form));
  const [head] = blocks.slice(start, start + 1);
  if (head === undefined) return [];
  const rest = blocks.slice(start + 1);
  const end = rest.findIndex((block) => depth(block) <= depth(head));
  return end < 0 ? rest : rest.slice(0, end);
}

function subjectsIn(blocks: readonly Block[], said: SaidOf): { subject: Subject; words: string }[] {
  let last: Subject = null;
  let head: string[] | null = null;
  return blocks.flatMap(({ kind, visible }) => {
    if (kind !== "row") {
      head = null;
      const found = placesIn(visible, said).map((at) => ({
        subject: subjectAt(visible, at, said) ?? last,
        words: visible,
      }));
      last = mentionsIn(visible, said).at(-1)?.subject ?? last;
      return found;
    }
    const cells = visible.split(" | ");
    head ??= cells;
    const columns = head;
    return cells.flatMap((cell, nth) =>
      placesIn(cell, said).map((at) => ({
        subject:
          subjectAt(cell, at, said) ?? onlyIn(columns[nth] ?? "", said) ?? onlyIn(visible, said) ?? last,
        words: visible,
      })),
    );
  });
}

/** The places at which it is said. */
function placesIn(text: string, { matches, value }: SaidOf): number[] {
  const wanted = value === null ? null : valueOf(value);
  const values = wanted === null ? [] : quantitiesIn(text).filter((each) => isSame(each, wanted));
  return [
    ...values.map(({ at }) => at),
    ...(matches === null ? [] : [...text.matchAll(everywhere(matches))].map(({ index }) => index)),
  ];
}

function mentionsIn(text: string, { of, not }: Pick<SaidOf, "of" | "not">): Mention[] {
  const found = (pattern: RegExp, subject: Subject) =>
    [...text.matchAll(everywhere(pattern))].map(({ 0: words, index }) => ({
      subject,
      from: index,
      to: index + words.length,
    }));
  return [...found(of, "of"), ...found(not, "not")]
    .filter(({ from }) => !DENIED.test(text.slice(0, from)))
    .toSorted((one, other) => one.from - other.from);
}

function subjectAt(text: string, at: number, said: SaidOf): Subject {
  const mentions = mentionsIn(text, said);
  for (const border of [CLAUSE, SENTENCE]) {
    const { from, to } = partAt(text, at, border);
    const its = mentions.filter((mention) => mention.from >= from && mention.to <= to);
    const before = its.filter((mention) => mention.from <= at).at(-1);
    const nearest = before ?? its[0];
    if (nearest !== undefined) return nearest.subject;
  }
  return mentions.filter(({ from }) => from <= at).at(-1)?.subject ?? null;
}

function partAt(text: string, at: number, border: RegExp): { from: number; to: number } {
  let [from, to] = [0, text.length];
  for (const { 0: gap, index } of text.matchAll(everywhere(border))) {
    if (index + gap.length <= at) from = index + gap.length;
    else to = Math.min(to, index);
  }
  return { from, to };
}

/** The thing that a text names, if it names one of them alone. */
function onlyIn(text: string, said: SaidOf): Subject {
  const subjects = new Set(mentionsIn(text, said).map(({ subject }) => subject));
  return subjects.size === 1 ? ([...subjects][0] ?? null) : null;
}
