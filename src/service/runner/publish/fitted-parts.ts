import { cut } from "../../../shared/text/text.ts";

/** The most characters of a list that is shown whole, below the fold. */
const MAX_LISTED_LENGTH = 8000;

/** Lines below their title, or one line beside it. */
export function titled(title: string, lines: string): string {
  return /^- |\n/.test(lines) ? `**${title}**\n\n${lines}` : `**${title}:** ${lines}`;
}

/**
 * A list with its title: as much of it as fits into `room`, and the `whole` list if that isn't all
 * of it. `what` is the word for one of its lines.
 */
export function fittedList(title: string, lines: readonly string[], room: number, what: string) {
  if (lines.length === 0) return { short: "", whole: [] };
  const listed = (length: number) => titled(title, linesWithin(lines, length, what));
  const short = listed(room - titled(title, "").length);
  return { short, whole: short === listed(Infinity) ? [] : [listed(MAX_LISTED_LENGTH)] };
}

/**
 * Like {@link fittedList}, of the first of several wordings of which all lines fit, or else of the
 * last one. The whole list has the first wording.
 */
export function fittedLists(
  title: string,
  wordings: readonly (readonly string[])[],
  room: number,
  what: string,
) {
  const lists = wordings.map((lines) => fittedList(title, lines, room, what));
  const fitting = lists.find(({ whole }) => whole.length === 0) ?? lists.at(-1);
  return { short: fitting?.short ?? "", whole: lists[0]?.whole ?? [] };
}

/** The length of parts with an empty line after each. Empty parts have none. */
export function lengthOf(parts: readonly string[]): number {
  return parts.reduce((sum, part) => sum + (part === "" ? 0 : part.length + 2), 0);
}

/** As many of the lines as fit, and how many more there are. `what` is the word for one of them. */
export function linesWithin(lines: readonly string[], room: number, what: string): string {
  const kept: string[] = [];
  let left = room - `- … and ${lines.length} more ${what}s`.length;
  for (const line of lines) {
    left -= line.length + 1;
    if (left < 0) break;
    kept.push(line);
  }
  const more = lines.length - kept.length;
  const rest = more === 0 ? [] : [`- … and ${more} more ${what}${more === 1 ? "" : "s"}`];
  return [...kept, ...rest].join("\n");
}

/** The beginning of a text, if possible up to the end of a paragraph or a line. */
export function startWithin(text: string, room: number): string {
  if (text.length <= room) return text;
  const start = text.slice(0, room);
  const end = [start.lastIndexOf("\n\n"), start.lastIndexOf("\n")].find((at) => at > room / 2);
  return end === undefined ? cut(text, room) : `${start.slice(0, end).trimEnd()}\n\n…`;
}

/** A section that opens when it is clicked. Its title is ours. */
export function folded(title: string, text: string): string {
  return `<details>\n<summary>${title}</summary>\n\n${text}\n\n</details>`;
}
