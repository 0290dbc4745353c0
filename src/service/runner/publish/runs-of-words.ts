import { readingsOf } from "./readings.ts";

/** Is called with each run of words: a number that the same words share, and its place. */
type OnRun = (run: number, start: number, end: number) => void;

/**
 * Finds the runs of so many words in a row, in linear time, as the text is written and as it is
 * shown. Upper case, invisible characters, markup and punctuation make no difference. Where words
 * have no spaces between them, a few characters count as one word. A text is read more than once,
 * so the runs aren't in order.
 */
export function eachRun(text: string, inARow: number, on: OnRun): void {
  for (const reading of readingsOf(text)) runsIn(reading, inARow, on);
}

/** The length of a text's beginning that has at most so many words. */
export function startOfWords(text: string, max: number): number {
  let left = max * WORD_WEIGHT;
  let length = 0;
  eachWord(text, (_one, _other, weight, _start, end) => {
    left -= weight;
    if (left >= 0) length = end;
    return left >= 0;
  });
  return length;
}

const GAP = 1;
/** A letter or a digit. */
const IN_WORD = 2;
/** A letter of a script without spaces. About so many make a word. */
const IDEOGRAPH = 3;
const UNSPACED = 4;
/** Belongs to the letter before it. */
const MARK = 5;
/** Doesn't show, or only makes a part of the word bold. */
const HIDDEN = 6;
const KIND = 7;
/** A letter that stays as it is, whatever is next to it. Upper case is only ASCII's. */
const IS_STABLE = 8;

/** Control characters, too, but those that are white space. */
const HIDDEN_CLASS = String.raw`[\p{Cf}\p{DI}*~\x60\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufffd]`;
const isHidden = new RegExp(`^${HIDDEN_CLASS}$`, "u");
const isLetter = /^[\p{L}\p{N}]$/u;
/** Numbers of notes. */
const isRaised = /^[¹²³\u2070-\u209f]$/u;
const isMark = /^\p{M}$/u;
const isIdeograph = /^[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}]$/u;
const isUnspaced = /^[\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]$/u;
/** Two or three of these letters become one. */
const isJamo = /^[\u1100-\u11ff]$/;

/** What is known of each UTF-16 unit. 0: nothing yet. */
const kinds = new Uint8Array(0x1_0000);

function kindOf(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  return kinds[unit] || lookUp(text, at, unit);
}

function lookUp(text: string, at: number, unit: number): number {
  const code = text.codePointAt(at) ?? unit;
  const kind = kindOfCharacter(String.fromCodePoint(code));
  if (code === unit) kinds[unit] = kind;
  return kind;
}

function kindOfCharacter(character: string): number {
  if (isHidden.test(character)) return HIDDEN;
  if (isMark.test(character)) return MARK;
  // A letter in a circle is a letter.
  if (isRaised.test(character) || !isLetter.test(character.normalize("NFKC"))) return GAP;
  const isStable = normalized(character) === character.replace(/[A-Z]/, (upper) => upper.toLowerCase());
  const kind = isIdeograph.test(character) ? IDEOGRAPH : isUnspaced.test(character) ? UNSPACED : IN_WORD;
  return kind | (isStable && character.length === 1 && !isJamo.test(character) ? IS_STABLE : 0);
}

const isSurrogate = (unit: number) => (unit & 0xf800) === 0xd800;

function widthAt(text: string, at: number): number {
  return isSurrogate(text.charCodeAt(at)) && (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}

/** The weight of a word. */
export const WORD_WEIGHT = 4;
/** The weight of a word of each kind. */
const WEIGHTS: Readonly<Record<number, number>> = { [IN_WORD]: WORD_WEIGHT, [IDEOGRAPH]: 2, [UNSPACED]: 1 };

type OnWord = (one: number, other: number, weight: number, start: number, end: number) => boolean;

/** Calls `on` with each word's two numbers, its weight and its place, until that returns false. */
export function eachWord(text: string, on: OnWord): void {
  const { length } = text;
  for (let at = 0; at < length;) {
    const found = kindOf(text, at);
    const kind = found & KIND;
    const start = at;
    at += widthAt(text, at);
    if (kind === GAP || kind >= MARK) continue;
    let end = at;
    let isStable = (found & IS_STABLE) !== 0;
    for (; at < length; at += widthAt(text, at)) {
      const next = kindOf(text, at);
      if ((next & KIND) === HIDDEN) continue;
      if ((next & KIND) !== MARK && ((next & KIND) !== IN_WORD || kind !== IN_WORD)) break;
      isStable &&= (next & IS_STABLE) !== 0 && end === at;
      end = at + widthAt(text, at);
    }
    const word = isStable ? text : normalized(text.slice(start, end));
    const from = isStable ? start : 0;
    const to = isStable ? end : word.length;
    let one = 0x811c_9dc5 | 0;
    let other = 0x1747_b28c;
    for (let index = from; index < to; index += 1) {
      const unit = word.charCodeAt(index);
      const lower = unit >= 0x41 && unit <= 0x5a ? unit + 0x20 : unit;
      one = Math.imul(one ^ lower, 0x0100_0193);
      other = Math.imul(other ^ lower, 0x5bd1_e995);
      other ^= other >>> 15;
    }
    if (!on(mixed(one), mixed(other ^ one), WEIGHTS[kind] ?? WORD_WEIGHT, start, end)) return;
  }
}

const HIDDEN_ONES = new RegExp(`${HIDDEN_CLASS}+`, "gu");

/** In upper case, `ß` is `SS`. */
function normalized(word: string): string {
  return word.replace(HIDDEN_ONES, "").normalize("NFKC").toUpperCase().toLowerCase();
}

function mixed(hash: number): number {
  const half = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  return half ^ (half >>> 13);
}

/** More words than a run can have. */
const RING = 64;
const ONE_BASE = 0x0001_f35d;
const OTHER_BASE = 0x0043_2ad5;

/** The powers of a base, as 32 bits. */
function powersOf(base: number): Int32Array {
  const powers = new Int32Array(RING).fill(1);
  for (let n = 1; n < RING; n += 1) powers[n] = Math.imul(powers[n - 1] ?? 1, base);
  return powers;
}

const ONE_POWERS = powersOf(ONE_BASE);
const OTHER_POWERS = powersOf(OTHER_BASE);

/**
 * The last words of a text, as many as a run has. Its number is a hash of 52 bits that is kept up
 * to date from word to word.
 */
export class LastWords {
  readonly #ones = new Int32Array(RING);
  readonly #others = new Int32Array(RING);
  readonly #weights = new Int32Array(RING);
  readonly #starts = new Int32Array(RING);
  readonly #needed: number;
  #first = 0;
  #weight = 0;
  #one = 0;
  #other = 0;
  /** How many there are. */
  count = 0;

  constructor(inARow: number) {
    this.#needed = inARow * WORD_WEIGHT;
  }

  /** Returns true if they are a run now. */
  add(one: number, other: number, weight: number, start: number): boolean {
    const place = (this.#first + this.count) % RING;
    this.#ones[place] = one;
    this.#others[place] = other;
    this.#weights[place] = weight;
    this.#starts[place] = start;
    this.#one = (Math.imul(this.#one, ONE_BASE) + one) | 0;
    this.#other = (Math.imul(this.#other, OTHER_BASE) + other) | 0;
    this.count += 1;
    this.#weight += weight;
    for (;;) {
      const first = this.#weights[this.#first] ?? 0;
      if (this.#weight - first < this.#needed) break;
      this.count -= 1;
      this.#one = (this.#one - Math.imul(this.#ones[this.#first] ?? 0, ONE_POWERS[this.count] ?? 0)) | 0;
      this.#other =
        (this.#other - Math.imul(this.#others[this.#first] ?? 0, OTHER_POWERS[this.count] ?? 0)) | 0;
      this.#weight -= first;
      this.#first = (this.#first + 1) % RING;
    }
    return this.#weight >= this.#needed;
  }

  get run(): number {
    return (this.#one >>> 0) * 0x10_0000 + (mixed(this.#other) >>> 12);
  }

  /** Where the first of them starts. */
  get start(): number {
    return this.#starts[this.#first] ?? 0;
  }

  /** Calls `on` with the last so many of them. */
  each(last: number, on: (one: number, other: number, weight: number) => void): void {
    for (let index = this.count - last; index < this.count; index += 1) {
      const place = (this.#first + index) % RING;
      on(this.#ones[place] ?? 0, this.#others[place] ?? 0, this.#weights[place] ?? 0);
    }
  }
}

/** Finds the runs in a text as one of `readingsOf` it. */
export function runsIn(text: string, inARow: number, on: OnRun): void {
  const last = new LastWords(inARow);
  eachWord(text, (one, other, weight, start, end) => {
    if (last.add(one, other, weight, start)) on(last.run, last.start, end);
    return true;
  });
}
