// oxlint-disable-next-line no-control-regex
const ANSI = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
/** Invisible characters that turn the direction of text: they make a line read as what it is not. */
const DIRECTIONS = /[\u202a-\u202e\u2066-\u2069]/g;

/** Text without terminal sequences, control characters other than line feed and tab, and direction overrides. */
export function plainText(text: string): string {
  return text.replace(ANSI, "").replaceAll("\r\n", "\n").replace(CONTROLS, "").replace(DIRECTIONS, "");
}

/** The text, or its start with an ellipsis, in at most `maxLength` UTF-16 units; no character is cut in two. */
export function cutText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  return `${text
    .slice(0, maxLength - 1)
    .toWellFormed()
    .replace(/\ufffd$/, "")
    .trimEnd()}…`;
}

/** One line: white space collapsed, cut to `maxLength`. */
export function oneLine(text: string, maxLength: number): string {
  return cutText(plainText(text).replace(/\s+/g, " ").trim(), maxLength);
}
