/** The first `max` UTF-16 units of a text at most, without half a surrogate pair at its end. */
export function startOf(text: string, max: number): string {
  if (text.length <= max) return text;
  return text.slice(0, Math.max(0, max)).replace(/[\ud800-\udbff]$/, "");
}

/**
 * Cuts text to at most `max` UTF-16 units including the ellipsis, never through a surrogate pair.
 * Half a pair in the text becomes U+FFFD, because strict JSON parsers would refuse the whole
 * message.
 */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text.toWellFormed();
  if (max < 1) return "";
  return `${startOf(text, max - 1)}…`.toWellFormed();
}

/**
 * Makes one line of at most `max` UTF-16 units. White space, control characters and characters that
 * change the text's direction become single spaces.
 */
export function plainLine(text: string, max: number): string {
  return cut(text.replace(/[\s\p{Cc}\p{Bidi_Control}]+/gu, " ").trim(), max);
}

/** As {@link plainLine}, but a longer line ends after a word where it can. */
export function lineOfWords(text: string, max: number): string {
  const line = plainLine(text, text.length);
  if (line.length <= max) return line;
  const start = cut(line, max);
  const space = start.lastIndexOf(" ");
  return space < max / 3 ? start : `${start.slice(0, space)} …`;
}

/** Created at its first use, because its rules take 20 ms and 3 MB to load. */
let sentences: Intl.Segmenter | undefined;

/**
 * The beginning of a text: its non-empty lines as {@link plainLine} makes them, at most `maxLines`
 * and `max` UTF-16 units. A longer text ends after a sentence or line if one ends late enough,
 * otherwise after a word, and then an ellipsis.
 */
export function excerpt(text: string, max: number, maxLines: number): string {
  const lines = text
    .split(/[\n\r\u2028\u2029]+/)
    .map((line) => plainLine(line, line.length))
    .filter((line) => line !== "");
  return beginning(lines, max, maxLines);
}

/**
 * The beginning of a longer text that keeps its paragraphs and indentation, without control
 * characters and at most `maxLines` and `max` UTF-16 units. A longer text ends as in {@link
 * excerpt}.
 */
export function passage(text: string, max: number, maxLines: number): string {
  const lines = text
    .toWellFormed()
    .replaceAll(/\r\n?|[\u2028\u2029]/g, "\n")
    .replaceAll(/[^\P{Cc}\n]|\p{Bidi_Control}/gu, " ")
    .split("\n")
    .map((line) => line.trimEnd());
  const paragraphs = lines.filter((line, n) => line !== "" || (lines[n - 1] ?? "") !== "");
  return beginning(paragraphs, max, maxLines);
}

/** A longer text ends with an ellipsis, after a whole sentence, line or word if there is one. */
function beginning(lines: readonly string[], max: number, maxLines: number): string {
  const kept = lines.slice(0, maxLines).join("\n").trimEnd();
  if (kept.length <= max && lines.length <= maxLines) return kept;
  const room = max - " …".length;
  if (kept.length <= room) return `${withoutOpening(kept)} …`;
  const start = startOf(kept, room);
  sentences ??= new Intl.Segmenter("en", { granularity: "sentence" });
  const parts = [...sentences.segment(start)].map(({ segment }) => segment);
  const whole = parts.slice(0, -1).join("").trimEnd();
  const words = start.slice(0, Math.max(0, start.search(/\s\S*$/))).trimEnd();
  const shown = [whole, words].find(({ length }) => length > max / 3) ?? start;
  return `${withoutOpening(shown)} …`;
}

/** Removes a last line that only introduces what follows it, such as "Not changed:". */
function withoutOpening(text: string): string {
  return text.replace(/\n[^\n]*:$/, "");
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A duration in its two largest units: `45 s`, `3 min 20 s`, `2 h 5 min`, `1 day 4 h`. */
export function formatDuration(durationMs: number): string {
  const ms = Math.max(0, Math.round(durationMs / SECOND) * SECOND);
  if (ms < MINUTE) return `${ms / SECOND} s`;
  if (ms < HOUR) return two(ms, MINUTE, "min", SECOND, "s");
  if (ms < DAY) return two(ms, HOUR, "h", MINUTE, "min");
  return two(ms, DAY, ms < 2 * DAY ? "day" : "days", HOUR, "h");
}

/**
 * Like {@link formatDuration}, without the seconds from a minute on: `45 s`, `3 min`, `2 h 5 min`.
 */
export function roughDuration(durationMs: number): string {
  return formatDuration(durationMs < MINUTE ? durationMs : Math.round(durationMs / MINUTE) * MINUTE);
}

/** A number as people read it: `1,234`. */
export function grouped(n: number): string {
  return n.toLocaleString("en-US");
}

/** A number and what it counts: `1 file`, `1,234 files`. */
export function counted(n: number, one: string, many = `${one}s`): string {
  return `${grouped(n)} ${n === 1 ? one : many}`;
}

/** Texts in one line: `ana`, `ana and ben`, `ana, ben and 3 more` with a `max` of 2. */
export function listed(texts: readonly string[], max = texts.length): string {
  const more = texts.length - max;
  const all = more > 0 ? [...texts.slice(0, max), `${more} more`] : texts;
  // Intl.ListFormat takes 12 ms to load, of every start.
  return all.length < 2 ? all.join("") : `${all.slice(0, -1).join(", ")} and ${all.at(-1)}`;
}

/** A time span in its largest unit: `3 minutes ago`. */
export function formatAgo(agoMs: number): string {
  if (agoMs < MINUTE) return "just now";
  const [unit, name]: [number, string] =
    agoMs < HOUR ? [MINUTE, "minute"] : agoMs < DAY ? [HOUR, "hour"] : [DAY, "day"];
  return `${counted(Math.floor(agoMs / unit), name)} ago`;
}

/** Time of day in UTC: `14:05 UTC`. */
export function utcTimeOfDay(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice("2026-01-05T".length, "2026-01-05T14:05".length)} UTC`;
}

/** A day and time in UTC: `2026-01-05 14:05 UTC`. */
export function utcTime(epochMs: number): string {
  if (!(epochMs >= 0 && epochMs < 8e15)) return "at an unknown time";
  return `${new Date(epochMs).toISOString().slice(0, "2026-01-05T14:05".length).replace("T", " ")} UTC`;
}

/**
 * Rounds up to a whole minute. Messages show times to the minute, and the time when something
 * begins must not be too early.
 */
export function upToMinute(epochMs: number): number {
  return Math.ceil(epochMs / MINUTE) * MINUTE;
}

function two(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const whole = Math.floor(ms / large);
  const rest = Math.floor((ms - whole * large) / small);
  return rest === 0 ? `${whole} ${largeName}` : `${whole} ${largeName} ${rest} ${smallName}`;
}

/**
 * A character that people can see. White space isn't one, and neither is, for example, an empty
 * Braille cell.
 */
const VISIBLE = /[^\u2800\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u;

/** The text without white space around it. Empty if there is nothing to read in it. */
export function wordsIn(text: string): string {
  return VISIBLE.test(text) ? text.trim() : "";
}

/** Code as people type it: between three backticks, or one on the same line. */
const CODE = /```[\s\S]*?```|`[^`\n]+`/g;

/** The same text with plain spaces in code, where editors and browsers put no-break spaces. */
export function withPlainCode(text: string): string {
  return text.replaceAll(CODE, (code) => code.replaceAll(/[\u00a0\u202f\u2007]/g, " "));
}

/** The value of a JSON text, or undefined if it isn't JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** True if a part of a URL is percent-encoded correctly. A bare `%` isn't. */
export function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
