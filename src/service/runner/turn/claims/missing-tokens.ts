/** Numbers as pages spell them out. One is an article, too. */
export const SPELLED_NUMBERS = new Map(
  "two three four five six seven eight nine ten eleven twelve"
    .split(" ")
    .map((word, at) => [word, String(at + 2)]),
);
const NUMBER = /(?<![\p{L}\p{N}_.#-])\d+(?:[.,_'\u00a0\u202f]\d+)*(?![\p{L}\p{N}_])/gu;
/** Numbers in code may have a unit at their end, or a name before them. */
const ANY_NUMBER = /\d+(?:[.,_']\d+)*/g;
const FLAG = /(?<![\w-])--[a-z][\w-]*/g;
const CODE = /(`+)([^`]+)\1/g;
const VARIABLE = /\b[A-Z][A-Z\d]*(?:_[A-Z\d]+)+\b/g;
/** More of a statement isn't looked at. */
const MAX_TOKENS = 50;

/**
 * The numbers, flags and names of code of a statement that its quote doesn't have, as the statement
 * writes them. `1,500`, `1500` and `1_500` are the same number, and so are `three` and `3`.
 */
export function missingTokens(statement: string, quote: string): string[] {
  const plain = statement.replace(CODE, " ");
  const code = [...statement.matchAll(CODE)].map(({ 2: inner = "" }) => inner.trim());
  const names = [
    ...code.filter((name) => /\p{L}/u.test(name)),
    ...matches(plain, FLAG),
    ...matches(plain, VARIABLE),
  ];
  const inCode = code.filter((name) => !/\p{L}/u.test(name));
  const numbers = [...matches(plain, NUMBER), ...inCode.flatMap((name) => matches(name, ANY_NUMBER))];
  const quoted = new Set([...matches(quote, ANY_NUMBER), ...spelledIn(quote)].flatMap(forms));
  const words = quote.replace(/\s+/g, " ");
  return [
    ...names.filter((name) => !words.includes(name.replace(/\s+/g, " "))),
    ...[...numbers, ...spelledIn(plain)].filter((number) => !forms(number).some((form) => quoted.has(form))),
  ].slice(0, MAX_TOKENS);
}

function matches(text: string, pattern: RegExp): string[] {
  return text.match(pattern) ?? [];
}

function spelledIn(text: string): string[] {
  return (text.toLowerCase().match(/\p{L}+/gu) ?? []).filter((word) => SPELLED_NUMBERS.has(word));
}

/** A number without marks between its thousands, and with a point. */
function forms(written: string): string[] {
  const number = SPELLED_NUMBERS.get(written) ?? written;
  const bare = number.replace(/[,_'\u00a0\u202f](?=\d{3}(?!\d))/g, "");
  return [bare, number.replace(/\.(?=\d{3}(?!\d))/g, "").replace(",", ".")].map((form) =>
    form.replace(/^0+(?=\d)/, ""),
  );
}
