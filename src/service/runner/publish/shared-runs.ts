import { readingsOf } from "./readings.ts";
import { eachWord, LastWords, runsIn, WORD_WEIGHT } from "./runs-of-words.ts";

/** Calls back with each text. */
type EachText = (on: (text: string) => void) => void;

/** More would take too much memory. These are some megabytes of prose. */
const MAX_RUNS = 1_000_000;
const MAX_WORDS = 3 * MAX_RUNS;
/** So many words in a row are a piece of a sentence. */
const PIECE = 3;
/** So many foreign words may stand between two pieces: a number, a cell, a name of a node. */
const MAX_FOREIGN = 6;
/** A run with foreign words in it may have so many times its words. */
const MAX_STRETCH = 2;
/** The pieces that are followed at once. More begin alike in data alone. */
const MAX_FOLLOWED = 32;
const MAX_ALIKE = 8;

/** What is kept of each piece of a text: a bit. */
type Pieces = { bits: Uint32Array; mask: number };

/** Runs of sources that may stand in a text, and their words, in order, with gaps of weight 0. */
type Candidates = {
  runs: Set<number>;
  ones: number[];
  others: number[];
  weights: number[];
};

/** Of each of several kinds of sources, the runs of the texts that stand there. */
export function sharedRuns(inARow: number, texts: EachText, kinds: readonly EachText[]): Set<number>[] {
  const pieces = piecesOf(texts);
  return kinds.map((sources) => {
    const candidates = candidatesOf(sources, pieces, inARow);
    const found = new Set<number>();
    if (candidates.runs.size === 0) return found;
    const at = piecesAt(candidates);
    texts((text) => {
      for (const reading of readingsOf(text)) {
        runsIn(reading, inARow, (run) => candidates.runs.has(run) && found.add(run));
        const places = scatteredIn(reading, inARow, candidates, at);
        if (places.length > 0) runsWithin(reading, inARow, places, (run) => found.add(run));
      }
    });
    return found;
  });
}

function pieceOf(first: number, second: number, third: number): number {
  const hash = Math.imul(Math.imul(first, 0x9e37_79b1) + second, 0x85eb_ca6b) + third;
  return Math.imul(hash ^ (hash >>> 15), 0xc2b2_ae35) >>> 0;
}

/** Calls `on` with each word, and with the piece that ends with it, or -1 at the beginning. */
function eachPiece(
  text: string,
  on: (piece: number, one: number, other: number, weight: number, start: number, end: number) => void,
): void {
  let [before, last, count] = [0, 0, 0];
  eachWord(text, (one, other, weight, start, end) => {
    count += 1;
    on(count < PIECE ? -1 : pieceOf(before, last, one), one, other, weight, start, end);
    before = last;
    last = one;
    return true;
  });
}

function piecesOf(texts: EachText): Pieces {
  let length = 0;
  texts((text) => (length += text.length));
  const size = 2 ** Math.min(27, Math.max(15, Math.ceil(Math.log2(8 * length + 1))));
  const bits = new Uint32Array(size / 32);
  const mask = size - 1;
  texts((text) => {
    for (const reading of readingsOf(text)) {
      eachPiece(reading, (piece) => {
        const at = (piece & mask) >>> 5;
        if (piece >= 0) bits[at] = (bits[at] ?? 0) | (1 << (piece & 31));
      });
    }
  });
  return { bits, mask };
}

/** The runs of which every word belongs to a piece of the texts. Some more are among them. */
function candidatesOf(sources: EachText, { bits, mask }: Pieces, inARow: number): Candidates {
  const all: Candidates = { runs: new Set(), ones: [], others: [], weights: [] };
  const keep = (one: number, other: number, weight: number) => {
    all.ones.push(one);
    all.others.push(other);
    all.weights.push(weight);
  };
  sources((text) => {
    for (const reading of readingsOf(text)) {
      const last = new LastWords(inARow);
      // A word belongs to a piece that ends with it, or with one of the next two.
      let missed = 0;
      let known = 0;
      let isKept = false;
      eachPiece(reading, (piece, one, other, weight, start) => {
        const isFull = last.add(one, other, weight, start);
        const isPiece = piece >= 0 && ((bits[(piece & mask) >>> 5] ?? 0) & (1 << (piece & 31))) !== 0;
        missed = isPiece ? 0 : missed + 1;
        known = missed < PIECE ? known + 1 : PIECE - 1;
        const isNew = isFull && known >= last.count && !all.runs.has(last.run);
        if (isNew) {
          all.runs.add(last.run);
          if (isKept) keep(one, other, weight);
          else {
            keep(0, 0, 0);
            last.each(last.count, keep);
          }
          if (all.runs.size > MAX_RUNS || all.ones.length > MAX_WORDS) {
            throw new RangeError("There are too many words to compare.");
          }
        }
        isKept = isNew;
      });
    }
  });
  return all;
}

/** Where pieces end among the candidates' words: the last place of each, and the one before. */
type PiecesAt = { last: Map<number, number>; before: Int32Array };

function piecesAt({ ones, weights }: Candidates): PiecesAt {
  const last = new Map<number, number>();
  const before = new Int32Array(ones.length);
  for (let at = PIECE; at < ones.length; at += 1) {
    if (weights[at] === 0 || weights[at - 1] === 0 || weights[at - 2] === 0) continue;
    const piece = pieceOf(ones[at - 2] ?? 0, ones[at - 1] ?? 0, ones[at] ?? 0);
    before[at] = last.get(piece) ?? 0;
    last.set(piece, at);
  }
  return { last, before };
}

type Place = { start: number; end: number };

/** A candidate's words in a text, one after another: the last ones, as many as a run needs. */
type Followed = {
  /** Its newest word among the candidates'. */
  at: number;
  /** Where its words stand: their numbers in the text, and their first characters. */
  numbers: number[];
  starts: number[];
  weight: number;
};

/** The places where candidates stand with foreign words between their pieces, in order. */
function scatteredIn(text: string, inARow: number, all: Candidates, at: PiecesAt): Place[] {
  const needed = inARow * WORD_WEIGHT;
  const places: Place[] = [];
  let followed: Followed[] = [];
  const recent: { number: number; start: number }[] = [];
  let number = 0;

  function goesOn(each: Followed, start: number, end: number): void {
    each.at += 1;
    each.numbers.push(number);
    each.starts.push(start);
    each.weight += all.weights[each.at] ?? 0;
    for (;;) {
      const first = all.weights[each.at - each.numbers.length + 1] ?? 0;
      if (each.weight - first < needed) break;
      each.weight -= first;
      each.numbers.shift();
      each.starts.shift();
    }
    const length = number - (each.numbers[0] ?? 0) + 1;
    const { length: words } = each.numbers;
    if (each.weight < needed || length === words || length > words * MAX_STRETCH) return;
    places.push({ start: each.starts[0] ?? 0, end });
  }

  eachPiece(text, (piece, one, other, _weight, start, end) => {
    number += 1;
    recent.push({ number, start });
    if (recent.length > PIECE) recent.shift();
    let isStale = false;
    for (const each of followed) {
      const next = each.at + 1;
      if (all.weights[next] !== 0 && all.ones[next] === one && all.others[next] === other) {
        goesOn(each, start, end);
      } else isStale ||= number - (each.numbers.at(-1) ?? 0) > MAX_FOREIGN;
    }
    if (isStale) followed = followed.filter(({ numbers }) => number - (numbers.at(-1) ?? 0) <= MAX_FOREIGN);
    let found = piece < 0 ? 0 : (at.last.get(piece) ?? 0);
    for (let alike = 0; found > 0 && alike < MAX_ALIKE; alike += 1) {
      const place = found;
      if (!followed.some((each) => each.at === place)) {
        if (followed.length >= MAX_FOLLOWED) followed.shift();
        followed.push({
          at: place,
          numbers: recent.map((each) => each.number),
          starts: recent.map((each) => each.start),
          weight: (all.weights[place - 2] ?? 0) + (all.weights[place - 1] ?? 0) + (all.weights[place] ?? 0),
        });
      }
      found = at.before[place] ?? 0;
    }
  });
  return places;
}

/** Calls `on` with the runs within these places, which are in the order of their ends. */
function runsWithin(text: string, inARow: number, places: readonly Place[], on: (run: number) => void): void {
  const joined: Place[] = [];
  for (const { start, end } of places) {
    let from = start;
    while ((joined.at(-1)?.end ?? -1) >= from) from = Math.min(from, joined.pop()?.start ?? from);
    joined.push({ start: from, end });
  }
  let next = 0;
  runsIn(text, inARow, (run, start, end) => {
    while ((joined[next]?.end ?? Infinity) < end) next += 1;
    if ((joined[next]?.start ?? Infinity) <= start) on(run);
  });
}
