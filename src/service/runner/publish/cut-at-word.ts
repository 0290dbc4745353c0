import { cut } from "../../../shared/text/text.ts";

/** What is read beyond the limit, to see where code or a quote ends that begins before it. */
const READ_BEYOND = 300;
/** Code, and a link. Neither means anything if it is cut. */
const CODE = /`[^`\n]{1,300}`|\]\([^()\s]{1,300}\)/g;
/** Words in quotation marks, which are better left together. */
const QUOTE = /"[^"\n]{1,200}"|“[^”\n]{1,200}”|‘[^’\n]{1,200}’/g;
/** What no text ends with: marks that announce more, and words that need another one. */
const OPEN_END = new RegExp(
  String.raw`(?:[\s,;:(\u2013\u2014\u2192-]|\s(?:a|an|and|as|at|by|for|from|in|into|its|of|on|or|so|` +
    String.raw`that|the|to|with))+$`,
  "i",
);

/**
 * Cuts a line to at most `max` UTF-16 units including the ellipsis: between two words, and never
 * inside a path, code or a link. Only a line without white space is cut anywhere, and a path at its
 * folders if it is all there is.
 */
export function cutAtWord(line: string, max: number): string {
  if (line.length <= max) return line.toWellFormed();
  if (max < 1) return "";
  const text = line.slice(0, max + READ_BEYOND).toWellFormed();
  const room = max - " …".length;
  const code = spansOf(text, CODE);
  const all = [...code, ...spansOf(text, QUOTE)];
  const starts = [startWithout(text, all, room), startWithout(text, code, room)];
  const start = starts.find(({ length }) => length > max / 3) ?? starts.find((each) => each !== "");
  if (start !== undefined) return `${start} …`;
  const [first = ""] = text.split(/\s/, 1);
  return pathEnd(first, max) ?? cut(text.replaceAll("`", ""), max);
}

type Span = { from: number; to: number };

function spansOf(text: string, pattern: RegExp): Span[] {
  return [...text.matchAll(pattern)].map(({ 0: found, index }) => ({
    from: index,
    to: index + found.length,
  }));
}

/** The longest start of whole words that ends in none of the spans. */
function startWithout(text: string, spans: readonly Span[], room: number): string {
  for (let at = room; at > 0; at -= 1) {
    if (!/\s/.test(text.charAt(at))) continue;
    if (spans.some(({ from, to }) => from < at && at < to)) continue;
    return text.slice(0, at).replace(OPEN_END, "");
  }
  return "";
}

/** The last part of a path that fits. Null if it is no path. */
function pathEnd(path: string, max: number): string | null {
  const parts = path.split("/");
  for (let at = 1; at < parts.length; at += 1) {
    const end = `…/${parts.slice(at).join("/")}`;
    if (end.length <= max) return end;
  }
  return null;
}
