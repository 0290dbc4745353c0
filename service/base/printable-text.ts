import { cut } from "../../src/core/text/text.ts";

// oxlint-disable-next-line no-control-regex
const TERMINAL_SEQUENCE = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
/**
 * Control characters other than tab and line feed, and what forges a line or turns the direction of
 * the text around it.
 */
const UNPRINTABLE = /[^\P{Cc}\n\t]|[\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/**
 * The text without terminal sequences and without characters that do not show but change how it
 * reads.
 */
export function printableText(text: string): string {
  return text.replace(TERMINAL_SEQUENCE, "").replaceAll("\r\n", "\n").replace(UNPRINTABLE, "");
}

/** The text for a terminal: what does not show but would change how it reads is shown as U+FFFD. */
export function terminalText(text: string): string {
  return text.replace(UNPRINTABLE, "\uFFFD");
}

/** One line: white space collapsed, cut to `maxLength` UTF-16 units. */
export function oneLine(text: string, maxLength: number): string {
  // Line separators are white space, not nothing.
  return cut(printableText(text.replace(/\s+/g, " ")).replace(/ +/g, " ").trim(), maxLength);
}

/** The text with its first letter in upper case. */
export function sentenceCase(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * The end of a text, in at most `maxLength` UTF-16 units, an ellipsis before it included if there
 * was more.
 */
export function endOf(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text.toWellFormed();
  // Half a pair at the cut is left out.
  return `…${text.slice(text.length - maxLength + 1).replace(/^[\udc00-\udfff]/, "")}`.toWellFormed();
}
