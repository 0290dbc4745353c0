import { type Written, writtenNumbers } from "./numbers.ts";

/** What a number counts: a time, an amount of data, how many in a time, or only a number. */
export type Dimension = "time" | "data" | "rate" | "plain";

/** A number with its unit, in seconds, bytes, or how many a second. `text` is how it is written. */
export type Quantity = { dimension: Dimension; value: number; text: string; at: number };

const SECONDS: Readonly<Record<string, number>> = {
  millisecond: 0.001,
  second: 1,
  minute: 60,
  hour: 3600,
  day: 86_400,
  week: 604_800,
  month: 2_592_000,
  year: 31_536_000,
};
const TIME_WORDS: readonly (readonly [RegExp, string])[] = [
  [/^(?:ms|milliseconds?|millis|Millisekunden?)\b/, "millisecond"],
  [/^(?:s|secs?|seconds?|Sekunden?)\b/, "second"],
  [/^(?:min|mins|minutes?|Minuten?)\b/, "minute"],
  [/^(?:h|hrs?|hours?|Stunden?)\b/, "hour"],
  [/^(?:d|days?|Tage?n?)\b/, "day"],
  [/^(?:weeks?|Wochen?)\b/, "week"],
  [/^(?:months?|Monate?n?)\b/, "month"],
  [/^(?:years?|Jahre?n?)\b/, "year"],
  [/^(?:秒)/, "second"],
  [/^(?:分)/, "minute"],
];
const DATA_WORDS: readonly (readonly [RegExp, number])[] = [
  [/^(?:KB|kB|KiB|kilobytes?)\b/, 1e3],
  [/^(?:MB|MiB|megabytes?)\b/i, 1e6],
  [/^(?:GB|GiB|gigabytes?)\b/i, 1e9],
  [/^(?:TB|TiB|terabytes?)\b/i, 1e12],
  [/^bytes?\b/, 1],
];
/** After a number and at most four words, the time in which that many may be. */
const RATE = new RegExp(
  [
    "^(?:[ \\t\\n]+(?!and\\b|or\\b|und\\b|to\\b)[\\p{L}`*_-]+){0,4}?[ \\t\\n]*",
    String.raw`(?:\/[ ]?|[ \n](?:per|an?|each|every|pro|within an?|in`,
    String.raw`(?: (?:an?|one|every|each|einer|der))?)[ \n]+)`,
    String.raw`(second|sec|s|minute|min|m|hour|h|day|week|month|year`,
    String.raw`|Sekunde|Minute|Stunde|Tag|Woche|Monat|Jahr)\b`,
  ].join(""),
  "u",
);
const RATE_NAMES: Readonly<Record<string, string>> = {
  sec: "second",
  s: "second",
  min: "minute",
  m: "minute",
  h: "hour",
  Sekunde: "second",
  Minute: "minute",
  Stunde: "hour",
  Tag: "day",
  Woche: "week",
  Monat: "month",
  Jahr: "year",
};

/** The quantities that a text names, in their order. `locale` says what commas and dots mean. */
export function quantitiesIn(text: string, locale = "en"): Quantity[] {
  const numbers = writtenNumbers(text, locale);
  const quantities: Quantity[] = [];
  for (const number of numbers.toReversed()) {
    const [next] = quantities;
    const its = quantityOf(number, text);
    const between = next === undefined ? "" : text.slice(number.to, next.at);
    const unit =
      next === undefined ? 1 : next.value / (numbers.find(({ from }) => from === next.at)?.value ?? 1);
    const isRange = its.dimension === "plain" && /^\s*(?:to|or|–|-)\s*$/.test(between);
    // In `14 to 30 days`, both are days.
    quantities.unshift(
      isRange && next !== undefined ? { ...its, dimension: next.dimension, value: its.value * unit } : its,
    );
  }
  return quantities;
}

function quantityOf({ value, from, to }: Written, text: string): Quantity {
  const tail = text.slice(to, to + 90);
  const next = tail.replace(/^[ \t\n\u00a0-]?[*_`]*[ \t\n]?/, "");
  const gap = tail.length - next.length;
  for (const [pattern, name] of TIME_WORDS) {
    const unit = pattern.exec(next)?.[0];
    if (unit === undefined) continue;
    const end = to + gap + unit.length;
    return { dimension: "time", value: value * (SECONDS[name] ?? 1), text: text.slice(from, end), at: from };
  }
  for (const [pattern, bytes] of DATA_WORDS) {
    const unit = pattern.exec(next)?.[0];
    if (unit !== undefined)
      return {
        dimension: "data",
        value: value * bytes,
        text: text.slice(from, to + gap + unit.length),
        at: from,
      };
  }
  const rate = RATE.exec(tail);
  if (rate !== null) {
    const name = RATE_NAMES[rate[1] ?? ""] ?? rate[1] ?? "";
    const seconds = SECONDS[name] ?? 1;
    return {
      dimension: "rate",
      value: value / seconds,
      text: text.slice(from, to + rate[0].length),
      at: from,
    };
  }
  return { dimension: "plain", value, text: text.slice(from, to), at: from };
}

/** A gigabyte has 1,000 megabytes or 1,024, as its author counts. */
const BINARY = [-3, -2, -1, 0, 1, 2, 3].map((steps) => 1.024 ** steps);

/** True if both say the same, whatever their units. A bare number may be in any unit. */
export function isSame(one: Quantity, other: Quantity): boolean {
  if (one.dimension === other.dimension) {
    const factors = one.dimension === "data" ? BINARY : [1];
    return factors.some((factor) => isNear(factor * one.value, other.value));
  }
  if (one.dimension === "plain") return hasValue(other, one.value);
  if (other.dimension === "plain") return hasValue(one, other.value);
  return false;
}

/** The units of time that a text names. */
export function unitsIn(text: string): string[] {
  const words = new Set(text.match(/\p{L}+/gu) ?? []);
  return TIME_WORDS.filter(([pattern]) =>
    [...words].some((word) => word.length > 1 && pattern.test(word)),
  ).map(([, name]) => name);
}

/** As {@link isSame}, where a bare number is in one of these units. */
export function isSameIn(one: Quantity, other: Quantity, units: readonly string[]): boolean {
  const bare = one.dimension === "plain" ? one : other;
  const full = bare === one ? other : one;
  const isTold = full.dimension === "time" || full.dimension === "rate";
  if (!isTold || bare.dimension !== "plain") return isSame(one, other);
  const seconds = units.map((unit) => SECONDS[unit] ?? 1);
  return seconds.some((unit) =>
    isNear(full.value, full.dimension === "rate" ? bare.value / unit : bare.value * unit),
  );
}

function hasValue({ dimension, value }: Quantity, bare: number): boolean {
  if (dimension === "data") return [1, 1e3, 1e6, 1e9, 1e12].some((unit) => isNear(value, bare * unit));
  const times = Object.values(SECONDS);
  return times.some((unit) => isNear(value, dimension === "rate" ? bare / unit : bare * unit));
}

function isNear(one: number, other: number): boolean {
  return Math.abs(one - other) <= 1e-6 * Math.max(Math.abs(one), Math.abs(other));
}
