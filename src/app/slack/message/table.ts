import type { Segment } from "../../rules/turn/request.ts";
import { jsonList } from "../../../shared/text/json-fields.ts";
import { ShownWords } from "./shown-words.ts";

const MAX_ROWS = 200;
const MAX_COLUMNS = 20;

/** Adds one part of a message. */
export type ReadPart = (words: ShownWords, value: unknown, depth: number) => void;

/** Adds a table, one line per row: `a | b`. */
export function readTable(words: ShownWords, rows: readonly unknown[], depth: number, read: ReadPart): void {
  const widest = rows.reduce<number>((most, row) => Math.max(most, jsonList(row).length), 0);
  words.leave("table column", widest - MAX_COLUMNS);
  for (const [n, row] of rows.entries()) {
    if (n >= MAX_ROWS || words.room.chars <= 0 || words.room.parts <= 0) {
      return words.leave("table row", rows.length - n);
    }
    const line = lineOf(words, jsonList(row).slice(0, MAX_COLUMNS), depth, read);
    words.lineEnd();
    for (const segment of line) words.add(segment);
  }
}

/** A row's cells in one line. Empty if nothing is in any of them. */
function lineOf(words: ShownWords, cells: readonly unknown[], depth: number, read: ReadPart): Segment[] {
  const line: Segment[] = [];
  let hasWords = false;
  cells.forEach((cell, n) => {
    const inside = new ShownWords({ ...words.room });
    read(inside, cell, depth + 1);
    words.room.parts = inside.room.parts - 1;
    for (const { what, count } of inside.leftOut()) words.leave(what, count);
    hasWords ||= !inside.isEmpty;
    if (n > 0) line.push({ kind: "text", text: " | " });
    line.push(...inside.segments.map(onOneLine));
  });
  return hasWords ? line : [];
}

function onOneLine(segment: Segment): Segment {
  return segment.kind === "text"
    ? { kind: "text", text: segment.text.replaceAll(/\s*[\n\r\u2028\u2029]+\s*/g, " ") }
    : segment;
}
