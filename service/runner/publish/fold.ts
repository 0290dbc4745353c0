import { cut } from "../../../src/core/text/text.ts";

/** The most characters of a pull request's text that stand above what is folded. */
export const ABOVE_FOLD = 1500;

/** As many of the lines as fit, and how many more there are. `what`: one of them. */
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

/** The start of a text, up to the end of a paragraph or a line where one is near. */
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
