/** A number in a text. `from` and `to` are offsets. */
export type Written = { value: number; from: number; to: number };

const SMALL: Readonly<Record<string, number>> = {
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
  eleven: 11,
  twelve: 12,
  thirteen: 13,
  fourteen: 14,
  fifteen: 15,
  sixteen: 16,
  seventeen: 17,
  eighteen: 18,
  nineteen: 19,
  twenty: 20,
  thirty: 30,
  forty: 40,
  fifty: 50,
  sixty: 60,
  seventy: 70,
  eighty: 80,
  ninety: 90,
  zwei: 2,
  drei: 3,
  vier: 4,
  fünf: 5,
  sechs: 6,
  sieben: 7,
  acht: 8,
  neun: 9,
  zehn: 10,
  zwölf: 12,
};
const ORDINALS: Readonly<Record<string, number>> = {
  second: 2,
  third: 3,
  fourth: 4,
  fifth: 5,
  sixth: 6,
  seventh: 7,
  eighth: 8,
  ninth: 9,
  tenth: 10,
  eleventh: 11,
  twelfth: 12,
  thirteenth: 13,
  fourteenth: 14,
  fifteenth: 15,
  sixteenth: 16,
  seventeenth: 17,
  eighteenth: 18,
  nineteenth: 19,
  twentieth: 20,
};
const SCALES: Readonly<Record<string, number>> = {
  hundred: 100,
  thousand: 1000,
  million: 1_000_000,
  billion: 1_000_000_000,
};

const NAMES = [...Object.keys(SMALL), ...Object.keys(SCALES)].join("|");
const SPELLED = new RegExp(
  [
    String.raw`\b(?:(?:an?|one)[ \n]+(?=(?:${Object.keys(SCALES).join("|")})\b))?`,
    String.raw`(?:${NAMES})(?:(?:-|[ \n]+(?:and[ \n]+)?)(?:${NAMES}|one)\b)*`,
    String.raw`(?:[ \n]+and[ \n]+a[ \n]+half)?(?![\p{L}-])`,
  ].join(""),
  "giu",
);
const ORDINAL = new RegExp(`\\b(?:${Object.keys(ORDINALS).slice(1).join("|")})\\b`, "gi");
const HALF = /\bhalf(?: of)?[ \n]+an?\b(?=[ \n]+(?:hour|day|year|minute|second)\b)/gi;
/** Digits, unless they belong to a name, a version or a date. */
const DIGITS = new RegExp(
  [
    String.raw`(?<![\p{L}\d_$@#/-])(?<!\d[.,:])`,
    String.raw`(?:\d{1,3}(?:[,.'_\u00a0\u202f]\d{3})+(?:[.,]\d+)?|\d+(?:_\d+)+|\d+(?:[.,]\d+)?)`,
    String.raw`(?:[kK](?![\p{L}\d]))?[½¼¾]?(?![\d_]|[.,:]\d|-\d)(?!\p{L}{3,}\d)`,
  ].join(""),
  "gu",
);

/** After digits, what they are counted in, as in "5 million". */
const SCALED = new RegExp(`^[ \\n\\u00a0-](${Object.keys(SCALES).join("|")})\\b`, "i");

/** The numbers in a text, in digits and in words. `locale` says what commas and dots mean. */
export function writtenNumbers(text: string, locale: string): Written[] {
  const found: Written[] = [];
  for (const { 0: digits, index } of text.matchAll(DIGITS)) {
    const end = index + digits.length;
    const [scaled = "", scale = ""] = SCALED.exec(text.slice(end, end + 12)) ?? [];
    const value = valueOf(digits, locale) * (SCALES[scale.toLowerCase()] ?? 1);
    found.push({ value, from: index, to: end + scaled.length });
  }
  const inDigits = [...found];
  for (const match of text.matchAll(SPELLED)) {
    if (inDigits.some(({ from, to }) => match.index > from && match.index < to)) continue;
    found.push({ value: spelled(match[0]), from: match.index, to: match.index + match[0].length });
  }
  for (const { 0: word, index } of text.matchAll(ORDINAL))
    found.push({ value: ORDINALS[word.toLowerCase()] ?? 0, from: index, to: index + word.length });
  for (const { 0: word, index } of text.matchAll(HALF))
    found.push({ value: 0.5, from: index, to: index + word.length });
  return found.toSorted((one, other) => one.from - other.from);
}

const DECIMAL_COMMA = new Set(["de", "fr", "es", "it", "nl", "pt", "pl", "ru", "tr", "cs", "da", "sv", "fi"]);

function valueOf(digits: string, locale: string): number {
  const isThousand = /[kK]$/.test(digits);
  const half = { "½": 0.5, "¼": 0.25, "¾": 0.75 }[digits.at(-1) ?? ""] ?? 0;
  let plain = digits.replace(/[kK½¼¾]/gu, "").replace(/['_\u00a0\u202f]/g, "");
  if (DECIMAL_COMMA.has(locale)) plain = plain.replace(/\./g, "").replace(",", ".");
  else plain = plain.replace(/,(?=\d{3}(?:\D|$))/g, "").replace(",", ".");
  return (Number(plain) + half) * (isThousand ? 1000 : 1);
}

function spelled(text: string): number {
  let [total, current] = [0, 0];
  for (const word of text.toLowerCase().split(/[^\p{L}]+/u)) {
    const scale = SCALES[word];
    if (word === "half") current += 0.5;
    else if (word === "one") current += 1;
    else if (scale !== undefined && scale > 100) [total, current] = [total + Math.max(1, current) * scale, 0];
    else if (scale !== undefined) current = Math.max(1, current) * scale;
    else current += SMALL[word] ?? 0;
  }
  return total + current;
}
