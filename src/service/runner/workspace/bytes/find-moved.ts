import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { isText } from "./keep-bytes.ts";

/** Lines that stand in more pages tell none of them. */
const MAX_PAGES_OF_LINE = 20;

/**
 * For each of the `added` pages, the number of the one in `gone` that it was made from, or null.
 * That is the one with the same text, or else the one with which it shares most lines, if these
 * are half of both.
 */
export function findMoved({ added, gone }: { added: readonly Buffer[]; gone: readonly Buffer[] }) {
  const sources = gone.map(linesOf);
  const wholes = new Map(sources.map(({ whole }, nth) => [whole, nth]));
  const holders = new Map<string, number[]>();
  for (const [nth, { lines }] of sources.entries()) {
    for (const line of lines)
      holders.set(line, [...(holders.get(line) ?? []), nth].slice(0, MAX_PAGES_OF_LINE + 1));
  }
  return added.map((bytes): number | null => {
    const { whole, lines } = linesOf(bytes);
    const same = whole === "" ? undefined : wholes.get(whole);
    if (same !== undefined) return same;
    const shared = new Map<number, number>();
    for (const line of lines) {
      const where = holders.get(line) ?? [];
      if (where.length > MAX_PAGES_OF_LINE) continue;
      for (const nth of where) shared.set(nth, (shared.get(nth) ?? 0) + 1);
    }
    const [best, count] = [...shared].reduce((one, other) => (other[1] > one[1] ? other : one), [-1, 0]);
    const most = Math.max(lines.size, sources[best]?.lines.size ?? 0);
    return count * 2 >= most && count > 0 ? best : null;
  });
}

/**
 * A page's lines but for the empty ones, each once, and a name of them all. Data has neither.
 */
function linesOf(bytes: Buffer): { whole: string; lines: ReadonlySet<string> } {
  if (!isText(bytes)) return { whole: "", lines: new Set() };
  // Of letters that were lost, nothing is left to compare.
  const isWhole = isUtf8(bytes) && !bytes.includes("\ufffd");
  const text = bytes.toString("latin1");
  const all = (isWhole ? text : text.replace(/[\u0080-\u00ff]+/g, "")).split(/[\r\n]+/);
  const whole = createHash("sha256").update(all.join("\n")).digest("base64");
  return { whole, lines: new Set(all.filter((line) => line.trim() !== "")) };
}
