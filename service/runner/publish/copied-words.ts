import { oneLine, redactedLine } from "../../base/printable-text.ts";
import type { Redact } from "../../base/redaction.ts";
import { splitFile, type SplitFile } from "./meant-for-users.ts";
import { eachRun, startOfWords } from "./runs-of-words.ts";

/** A text, or the bytes of one in UTF-8. */
export type Text = string | Uint8Array;

/** Runs of `inARow` words, by the numbers that `eachRun` gives them. */
export type Runs = { inARow: number; runs: Float64Array };

/** What words may come from. A file of a repository has a path. */
export type Source = { path: string | null; text: Text };

/** A part of a text that was copied, in full length. */
export type CopiedPart = {
  /** In one line, without secrets. */
  words: string;
  /** False if there is a secret in it, so the words aren't all of it. */
  isWhole: boolean;
  /** Its first words, too few to be a copy. */
  hint: string;
};

/** More would take too much memory. These are some megabytes of prose. */
const MAX_RUNS = 1_000_000;
const HINT_WORDS = 5;

/**
 * The runs that stand in a text and in a source. `meant` are those that stand where a source speaks
 * to users. Throws a `RangeError` if both sides are too long.
 */
export function findCopies({
  inARow,
  texts,
  sources,
}: {
  inARow: number;
  texts: readonly Text[];
  sources: readonly Source[];
}): { copied: Float64Array; meant: Float64Array } {
  const [ours, theirs] = [bytesOf(texts), bytesOf(sources.map(({ text }) => text))];
  function shared(kind: keyof SplitFile): Float64Array {
    const eachOurs = (on: (run: number) => void) => {
      for (const text of texts) eachRun(textOf(text), inARow, on);
    };
    const eachTheirs = (on: (run: number) => void) => {
      for (const { path, text } of sources) {
        for (const part of splitFile(path, textOf(text))[kind]) eachRun(part, inARow, on);
      }
    };
    const [eachOfFew, eachOfMany] = ours < theirs ? [eachOurs, eachTheirs] : [eachTheirs, eachOurs];
    const few = new Set<number>();
    eachOfFew((run) => {
      few.add(run);
      if (few.size > MAX_RUNS) throw new RangeError("There are too many words to compare.");
    });
    const found = new Set<number>();
    if (few.size > 0) eachOfMany((run) => few.has(run) && found.add(run));
    return Float64Array.from(found);
  }
  return { copied: shared("own"), meant: shared("forUsers") };
}

/** Those of the runs that none of these texts contains. */
export function forgetKnown({ found, known }: { found: readonly Runs[]; known: readonly Text[] }): Runs[] {
  return found.map(({ inARow, runs }) => {
    const left = new Set(runs);
    if (left.size > 0) for (const text of known) eachRun(textOf(text), inARow, (run) => left.delete(run));
    return { inARow, runs: Float64Array.from(left) };
  });
}

/**
 * Where runs stand: the parts of each text, for each of `found`, and the text without the lines
 * that contain any of them, or a piece of one. `rest` is null if that is the whole text.
 */
export function showCopies(
  { texts, found }: { texts: readonly Text[]; found: readonly Runs[] },
  redact: Redact,
): { parts: CopiedPart[][]; rest: string | null }[] {
  const wanted = found.map(({ inARow, runs }) => ({ inARow, runs: new Set(runs) }));
  return texts.map((given) => {
    const text = textOf(given);
    const places = wanted.map(({ inARow, runs }) => placesOf(text, inARow, runs));
    const parts = places.map((all) => all.map(({ start, end }) => partOf(text.slice(start, end), redact)));
    const all = joined(places.flat());
    return { parts, rest: all.length === 0 ? null : withoutLines(text, all) };
  });
}

function partOf(text: string, redact: Redact): CopiedPart {
  const words = redactedLine(redact, text, Infinity);
  const isWhole = words === oneLine(text, Infinity);
  return { words, isWhole, hint: words.slice(0, startOfWords(words, HINT_WORDS)) };
}

type Place = { start: number; end: number };

function placesOf(text: string, inARow: number, runs: ReadonlySet<number>): Place[] {
  if (runs.size === 0) return [];
  const found: Place[] = [];
  eachRun(text, inARow, (run, start, end) => {
    if (!runs.has(run)) return;
    const last = found.at(-1);
    // Most runs overlap with the one before.
    if (last !== undefined && start >= last.start && start < last.end) last.end = Math.max(last.end, end);
    else found.push({ start, end });
  });
  return joined(found);
}

/** The places in order, those that overlap as one. */
function joined(places: readonly Place[]): Place[] {
  const all: Place[] = [];
  for (const { start, end } of places.toSorted((one, other) => one.start - other.start)) {
    const last = all.at(-1);
    if (last !== undefined && start < last.end) last.end = Math.max(last.end, end);
    else all.push({ start, end });
  }
  return all;
}

function withoutLines(text: string, places: readonly Place[]): string {
  const lines: string[] = [];
  let next = 0;
  let end = -1;
  for (const line of text.split("\n")) {
    const start = end + 1;
    end = start + line.length;
    while ((places[next]?.end ?? Infinity) <= start) next += 1;
    if ((places[next]?.start ?? Infinity) >= end) lines.push(line);
  }
  return lines.join("\n");
}

function bytesOf(texts: readonly Text[]): number {
  return texts.reduce((sum, { length }) => sum + length, 0);
}

function textOf(text: Text): string {
  return typeof text === "string" ? text : Buffer.from(text).toString("utf8");
}
