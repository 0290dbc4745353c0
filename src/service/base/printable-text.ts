import { cut } from "../../shared/text/text.ts";

// oxlint-disable-next-line no-control-regex
const TERMINAL_SEQUENCE = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
/**
 * Control characters other than tab and line feed, and characters that forge a line break or
 * reverse the direction of the text around them.
 */
const UNPRINTABLE = /[^\P{Cc}\n\t]|[\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/** Removes terminal sequences, and characters that are invisible but change how the text reads. */
export function printableText(text: string): string {
  return text.replace(TERMINAL_SEQUENCE, "").replaceAll("\r\n", "\n").replace(UNPRINTABLE, "");
}

/**
 * Makes a text safe for a terminal: invisible characters that would change how it reads become
 * U+FFFD.
 */
export function terminalText(text: string): string {
  return text.replace(UNPRINTABLE, "\uFFFD");
}

/** One line: collapses white space and cuts to `maxLength` UTF-16 units. */
export function oneLine(text: string, maxLength: number): string {
  // A line separator counts as white space. It isn't just removed.
  return cut(printableText(text.replace(/\s+/g, " ")).replace(/ +/g, " ").trim(), maxLength);
}

/** A line shows less. To redact megabytes takes seconds. */
const READ_CHARS = 40_000;
/** No secret is longer. */
const SECRET_CHARS = 16_000;

/**
 * {@link oneLine} without secrets. Removing invisible characters may put a secret together, and
 * half of one is a secret, too.
 */
export function redactedLine(redact: (text: string) => string, text: string, maxLength: number): string {
  const start = maxLength === Infinity ? redact(text) : redactedStart(redact, text);
  return cut(redact(oneLine(start, Infinity)), maxLength);
}

/** Like {@link redactedLine}, with its line breaks. */
export function redactedText(redact: (text: string) => string, text: string, maxLength: number): string {
  return cut(redact(printableText(redactedStart(redact, text))).trim(), maxLength);
}

function redactedStart(redact: (text: string) => string, text: string): string {
  if (text.length <= READ_CHARS) return redact(text);
  // The last secret of a part may be cut in half, so the part ends before it.
  return redact(text.slice(0, READ_CHARS)).slice(0, -SECRET_CHARS);
}

/** The text with its first letter in upper case. */
export function sentenceCase(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * Returns the end of a text, in at most `maxLength` UTF-16 units. If something was cut, this begins
 * with an ellipsis.
 */
export function endOf(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text.toWellFormed();
  // Drops half of a surrogate pair at the cut.
  return `…${text.slice(text.length - maxLength + 1).replace(/^[\udc00-\udfff]/, "")}`.toWellFormed();
}
