import type { DocPage } from "../page.ts";
import { eachLine, type Trace, shown } from "../rule.ts";

/** Their content is no markup: nothing but the same mark again ends them. */
const VERBATIM = /^(?:-{4,}|\.{4,}|\+{4,}|\/{4,})$/;
/** They may hold other blocks. */
const COMPOUND = /^(?:={4,}|\*{4,}|_{4,}|--|[|,:!]===)$/;
const FENCE = /^```(?:[\w+#.-]+(?:,\S*)?)?$/;
/** Lines that stand only if something is set may open a block twice, and close it once. */
const CONDITION = /^(?:ifn?def|ifeval)::/m;
const UNDERLINE_SLACK = 1;

/** Blocks of AsciiDoc that have no end. */
export function openDelimiters(page: DocPage): Trace[] {
  if (CONDITION.test(page.text)) return [];
  const open: { at: number; mark: string; isVerbatim: boolean }[] = [];
  for (const [nth, { line, at }] of eachLine(page).entries()) {
    const mark = line.trimEnd();
    const last = open.at(-1);
    if (last?.isVerbatim === true) {
      if (mark === last.mark) open.pop();
      continue;
    }
    const isFence = FENCE.test(mark);
    const isVerbatim = isFence || VERBATIM.test(mark);
    if (!isVerbatim && !COMPOUND.test(mark)) continue;
    const known = isVerbatim ? -1 : open.findLastIndex((each) => each.mark === mark);
    if (known >= 0) {
      const inner = open[known + 1];
      if (inner !== undefined) return [openOne(inner)];
      open.length = known;
    } else if (!isUnderline(page, nth)) open.push({ at, mark: isFence ? "```" : mark, isVerbatim });
  }
  const [first] = open;
  return first === undefined ? [] : [openOne(first)];
}

function openOne({ at, mark }: { at: number; mark: string }): Trace {
  return { at, key: mark, says: `The block that begins with ${shown(mark)} has no end.` };
}

/** True for the line under a heading, which is as long as the heading. */
function isUnderline({ lines }: DocPage, nth: number): boolean {
  const [line = "", title = "", above = ""] = [lines[nth], lines[nth - 1], lines[nth - 2]];
  const isNear = Math.abs(title.trimEnd().length - line.trimEnd().length) <= UNDERLINE_SLACK;
  return isNear && /^[=\-+]{4,}\s*$/.test(line) && /^[\p{L}\d]/u.test(title) && above.trim() === "";
}
