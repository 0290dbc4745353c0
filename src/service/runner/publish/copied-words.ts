import { oneLine, redactedLine } from "../../base/printable-text.ts";
import type { Redact } from "../../base/redaction.ts";
import { splitFile } from "./meant-for-users.ts";
import { readText, type Text } from "./read-text.ts";
import { eachRun, startOfWords } from "./runs-of-words.ts";
import { sharedRuns } from "./shared-runs.ts";

/** A text, or several that are told together, in this order. */
export type Told = Text | readonly string[];

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

const HINT_WORDS = 5;

/**
 * The runs of texts that stand in a source, also with a few other words in between: the numbers of
 * lines, or another column. `meant` are those that stand where a source speaks to users. Throws a
 * `RangeError` if too much is the same.
 */
export function findCopies({
  inARow,
  texts,
  sources,
}: {
  inARow: number;
  texts: readonly Told[];
  sources: readonly Source[];
}): { copied: Float64Array; meant: Float64Array } {
  const kinds = (["own", "forUsers"] as const).map((kind) => (on: (text: string) => void) => {
    for (const { path, text } of sources) {
      for (const read of readText(text)) splitFile(path, read)[kind].forEach(on);
    }
  });
  const [copied = [], meant = []] = sharedRuns(inARow, eachTold(texts), kinds);
  return { copied: Float64Array.from(copied), meant: Float64Array.from(meant) };
}

/** Those of the runs of these texts that none of the known ones contains. */
export function forgetKnown({
  found,
  known,
  texts,
}: {
  found: readonly Runs[];
  known: readonly Text[];
  texts: readonly Told[];
}): Runs[] {
  return found.map(({ inARow, runs }) => {
    const left = new Set(runs);
    const each = (of: readonly Told[]) => (on: (run: number) => void) =>
      eachTold(of)((text) => eachRun(text, inARow, on));
    if (left.size > 0) each(known)((run) => left.delete(run));
    if (left.size === 0) return { inARow, runs: new Float64Array() };
    // A list that is known may have become a table.
    const parts = texts.flatMap((told) =>
      readTold(told).flatMap((text) =>
        placesOf(text, inARow, left).map(({ start, end }) => text.slice(start, end)),
      ),
    );
    const [again = []] = sharedRuns(inARow, eachTold(parts), [eachTold(known)]);
    for (const run of again) left.delete(run);
    return { inARow, runs: Float64Array.from(left) };
  });
}

/**
 * Where runs stand: the parts of each text, for each of `found`, and the text without the lines
 * that contain any of them, or a piece of one: for each of those that are told together. A rest is
 * null if that is the whole text.
 */
export function showCopies(
  { texts, found }: { texts: readonly Told[]; found: readonly Runs[] },
  redact: Redact,
): { parts: CopiedPart[][]; rests: (string | null)[] }[] {
  const wanted = found.map(({ inARow, runs }) => ({ inARow, runs: new Set(runs) }));
  return texts.map((told) => {
    const [first = EMPTY, ...others] = readTold(told).map((text) => {
      const places = wanted.map(({ inARow, runs }) => placesOf(text, inARow, runs));
      return { text, places, all: joined(places.flat()) };
    });
    const { text, places, all } = [first, ...others].find((each) => each.all.length > 0) ?? first;
    const parts = places.map((of) => of.map(({ start, end }) => partOf(text.slice(start, end), redact)));
    let end = -1;
    const rests = (typeof told === "string" || told instanceof Uint8Array ? [text] : told).map((one) => {
      const start = end + 1;
      end = start + one.length;
      const its = all.filter((place) => place.end > start && place.start < end);
      return its.length === 0 ? null : withoutLines(one, its, start);
    });
    return { parts, rests };
  });
}

const EMPTY = { text: "", places: [], all: [] };

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

/** The places are in a text in which this one starts at `offset`. */
function withoutLines(text: string, places: readonly Place[], offset: number): string {
  const lines: string[] = [];
  let next = 0;
  let end = offset - 1;
  for (const line of text.split("\n")) {
    const start = end + 1;
    end = start + line.length;
    while ((places[next]?.end ?? Infinity) <= start) next += 1;
    if ((places[next]?.start ?? Infinity) >= end) lines.push(line);
  }
  return lines.join("\n");
}

/** Texts as they may be meant. Those that are told together are one, of a line each, or more. */
function readTold(told: Told): string[] {
  if (typeof told === "string" || told instanceof Uint8Array) return readText(told);
  return [told.join("\n")];
}

function eachTold(texts: readonly Told[]): (on: (text: string) => void) => void {
  return (on) => {
    for (const text of texts) readTold(text).forEach(on);
  };
}
