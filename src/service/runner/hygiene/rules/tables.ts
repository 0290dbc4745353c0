import { lineAt } from "../page.ts";
import { eachLine, type Trace, keyOfText, lineTextAt, type Rule, shown } from "../rule.ts";

const ROW = /^\s*\|.*\S.*\|\s*$/;
const DELIMITERS = /^(?=.*\|)(?=.*-)[\s|:-]+$/;

function isRow(line: string): boolean {
  return ROW.test(line) && !DELIMITERS.test(line);
}

/** Tables that don't show as tables, and rows with more cells than their table has columns. */
export const table: Rule = (page, before) => {
  if (page.parts.length === 0) return [];
  const found: Trace[] = [];
  const tables = page.blocks.filter(({ kind }) => kind === "table");
  const lines = eachLine(page, page.prose);
  // Some sites show tables without a head.
  const heads = new Set(
    before?.lines.filter((_, nth) => DELIMITERS.test(before.lines[nth + 1] ?? "")).map(keyOfText),
  );
  for (const { from, to } of page.blocks.filter(({ kind }) => kind === "paragraph")) {
    const [first, last] = [lineAt(page, from), lineAt(page, to - 1)];
    const words = page.lines.slice(first - 1, last);
    const [head] = words;
    if (head !== undefined && words.length > 1 && words.every(isRow) && heads.has(keyOfText(head))) {
      const says = `The table with ${shown(head.trim())} doesn't show: it has no row of dashes.`;
      found.push({ at: from, key: keyOfText(head), says });
      continue;
    }
    for (let nth = first; nth < last; nth += 1) {
      const { line = "", at = 0 } = lines[nth] ?? {};
      const head = lines[nth - 1]?.line ?? "";
      if (!DELIMITERS.test(line) || !/\|.*\|/.test(head)) continue;
      const says = `The table with ${shown(head.trim())} doesn't show: its second row has other cells.`;
      found.push({ at, key: keyOfText(head), says });
    }
  }
  let next = 0;
  for (const { from, to } of tables) {
    let columns = 0;
    const rows: { at: number; cells: number }[] = [];
    for (; (page.parts[next]?.from ?? Infinity) < to; next += 1) {
      const part = page.parts[next];
      const row = rows.at(-1);
      if (part === undefined || part.from < from) continue;
      if (part.type === "tableHeader") columns += 1;
      else if (part.type === "tableRow") rows.push({ at: part.from, cells: 0 });
      else if (part.type === "tableData" && row !== undefined) row.cells += 1;
    }
    for (const { at, cells } of rows.filter((row) => row.cells > columns)) {
      const text = lineTextAt(page, at).trim();
      const says = `This row has ${cells} cells, and its table ${columns} columns: ${shown(text)}.`;
      found.push({ at, key: keyOfText(text), says });
    }
  }
  return found;
};
