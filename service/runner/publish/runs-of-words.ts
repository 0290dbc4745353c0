/**
 * The parts that aren't shown as words: comments, tags, link targets, addresses, footnote marks,
 * roles, attributes and the numbers of lists and tables. Each alternative is read in linear time.
 */
const MARKUP = new RegExp(
  [
    String.raw`<!--[^]*?(?:-->|$(?![^]))`,
    String.raw`<\/?[a-z][^<>]*>`,
    String.raw`https?:\/\/[^\s<>()[\]|]+`,
    String.raw`(?<=\])(?:\([^()\n]*\)|\[[^\]\n]*\])`,
    String.raw`\[\^[^[\]\n]{1,100}\]`,
    String.raw`\{\{[^{}]*\}\}|\{%[^{}]*%\}|\{[#.:][^{}\n]*\}`,
    String.raw`:[a-z][\w:+.-]{0,40}:(?=\x60)`,
    String.raw`\b(?:link|xref|image|footnote):[^\s[\]]{0,100}(?=\[)`,
    String.raw`^[ \t>|]{0,100}\(?(?:\d{1,9}|[a-z]|[ivx]{1,5})[.)](?=\s)`,
    String.raw`(?<=\|)[ \t]{0,100}\d{1,9}[.)]?[ \t]{0,100}(?=\|)`,
  ].join("|"),
  "gim",
);
/** A character by its number or name, or bytes of an address. */
const ENCODED = /&#(\d{1,8});|&#x([\da-f]{1,6});|&([a-z]{2,31});|(?:%[\da-f]{2})+/gi;
/** Names of letters with marks are made of both: `eacute`. */
const MARKED_LETTER = /^([a-z])(grave|acute|circ|tilde|uml|ring|cedil|caron|breve|macr|ogon|dot)$/i;
const MARKS: Readonly<Record<string, string>> = {
  grave: "\u0300",
  acute: "\u0301",
  circ: "\u0302",
  tilde: "\u0303",
  uml: "\u0308",
  ring: "\u030a",
  cedil: "\u0327",
  caron: "\u030c",
  breve: "\u0306",
  macr: "\u0304",
  ogon: "\u0328",
  dot: "\u0307",
};
const NAMED: Readonly<Record<string, string>> = {
  shy: "\u00ad",
  zwj: "\u200d",
  zwnj: "\u200c",
  szlig: "ß",
  aelig: "æ",
  oelig: "œ",
  oslash: "ø",
  eth: "ð",
  thorn: "þ",
  lstrok: "ł",
  dstrok: "đ",
  inodot: "ı",
  lt: "<",
  gt: ">",
  amp: "&",
};

/** Invisible, so a word goes on behind it. */
const INVISIBLE = "\u00ad";

/** Is called with each run of words: a number that the same words share, and its place. */
type OnRun = (run: number, start: number, end: number) => void;

/**
 * Finds the runs of so many words in a row, in linear time, as the text is written and as it is
 * shown. Upper case, invisible characters, markup and punctuation make no difference. Where words
 * have no spaces between them, a few characters count as one word. A text is read more than once,
 * so the runs aren't in order.
 */
export function eachRun(text: string, inARow: number, on: OnRun): void {
  const written = decoded(text);
  runsIn(written, inARow, on);
  let isInWord = false;
  const shown = written.replace(MARKUP, (markup: string, at: number) => {
    isInWord ||= isLetterAt(written, at - 1) && isLetterAt(written, at + markup.length);
    return " ".repeat(markup.length);
  });
  if (shown !== written) runsIn(shown, inARow, on);
  if (!isInWord) return;
  runsIn(
    written.replace(MARKUP, (markup) => INVISIBLE.repeat(markup.length)),
    inARow,
    on,
  );
}

function isLetterAt(text: string, at: number): boolean {
  return at >= 0 && at < text.length && kindOf(text, at) !== GAP;
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

/** The text with encoded characters as themselves. Each place stays where it is. */
function decoded(text: string): string {
  return text.replace(ENCODED, (whole, decimal?: string, hexadecimal?: string, name?: string) => {
    const character =
      name !== undefined
        ? characterOf(name)
        : decimal !== undefined || hexadecimal !== undefined
          ? fromCode(decimal === undefined ? Number.parseInt(hexadecimal ?? "", 16) : Number(decimal))
          : fromBytes(whole);
    return (character ?? " ").padEnd(whole.length, INVISIBLE);
  });
}

function characterOf(name: string): string | null {
  const [, letter = "", mark = ""] = MARKED_LETTER.exec(name) ?? [];
  if (letter !== "") return letter + (MARKS[mark.toLowerCase()] ?? "");
  return NAMED[name.toLowerCase()] ?? null;
}

function fromCode(code: number): string | null {
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : null;
}

function fromBytes(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return null;
  }
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

const isHidden = /^[\p{Cf}\p{DI}*~`]$/u;
const isLetter = /^[\p{L}\p{N}]$/u;
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
  if (!isLetter.test(character)) return GAP;
  const isStable = normalized(character) === character.replace(/[A-Z]/, (upper) => upper.toLowerCase());
  const kind = isIdeograph.test(character) ? IDEOGRAPH : isUnspaced.test(character) ? UNSPACED : IN_WORD;
  return kind | (isStable && character.length === 1 && !isJamo.test(character) ? IS_STABLE : 0);
}

const isSurrogate = (unit: number) => (unit & 0xf800) === 0xd800;

function widthAt(text: string, at: number): number {
  return isSurrogate(text.charCodeAt(at)) && (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}

const WORD_WEIGHT = 4;
/** The weight of a word of each kind. */
const WEIGHTS: Readonly<Record<number, number>> = { [IN_WORD]: WORD_WEIGHT, [IDEOGRAPH]: 2, [UNSPACED]: 1 };

type OnWord = (one: number, other: number, weight: number, start: number, end: number) => boolean;

/** Calls `on` with each word's two numbers, its weight and its place, until that returns false. */
function eachWord(text: string, on: OnWord): void {
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

const HIDDEN_ONES = /[\p{Cf}\p{DI}*~`]+/gu;

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
 * A run ends with each word, and has as many words before it as it needs. Its number is a hash of
 * 52 bits that is kept up to date from word to word.
 */
function runsIn(text: string, inARow: number, on: OnRun): void {
  const needed = inARow * WORD_WEIGHT;
  const ones = new Int32Array(RING);
  const others = new Int32Array(RING);
  const weights = new Int32Array(RING);
  const starts = new Int32Array(RING);
  let [first, count, weight, one, other] = [0, 0, 0, 0, 0];
  eachWord(text, (wordOne, wordOther, wordWeight, start, end) => {
    const place = (first + count) % RING;
    ones[place] = wordOne;
    others[place] = wordOther;
    weights[place] = wordWeight;
    starts[place] = start;
    one = (Math.imul(one, ONE_BASE) + wordOne) | 0;
    other = (Math.imul(other, OTHER_BASE) + wordOther) | 0;
    count += 1;
    weight += wordWeight;
    while (weight - (weights[first] ?? 0) >= needed) {
      count -= 1;
      one = (one - Math.imul(ones[first] ?? 0, ONE_POWERS[count] ?? 0)) | 0;
      other = (other - Math.imul(others[first] ?? 0, OTHER_POWERS[count] ?? 0)) | 0;
      weight -= weights[first] ?? 0;
      first = (first + 1) % RING;
    }
    if (weight >= needed) {
      on((one >>> 0) * 0x10_0000 + (mixed(other) >>> 12), starts[first] ?? 0, end);
    }
    return true;
  });
}
