import type { Segment } from "../page/align.ts";
import { isOtherEnd } from "./turned.ts";

/**
 * Cells of words that the reference keeps in a row that it changes, and that the solution's row
 * doesn't have. More words in the cell are no loss.
 */
export function lostCells({ before, reference, after }: Segment): string[] {
  const [old, right, now] = [rowsOf(before), rowsOf(reference), rowsOf(after)];
  return right.flatMap((wanted) => {
    const past = rowLike(wanted, old);
    const its = rowLike(wanted, now);
    if (past === undefined || its === undefined || past.length !== wanted.length) return [];
    const kept = wanted.filter((cell, nth) => nth > 0 && cell === past[nth] && /\p{L}\s+\p{L}/u.test(cell));
    return kept.filter((cell) => !its.some((each) => each.includes(cell))).map((cell) => `"${cell}" is gone`);
  });
}

/** Cells that name the other end of a range than the reference's: the shortest for the longest. */
export function turnedCells({ reference, after }: Segment): string[] {
  const right = rowsOf(reference);
  return rowsOf(after).flatMap((row) => {
    const wanted = rowLike(row, right);
    if (wanted === undefined || wanted.length !== row.length) return [];
    return row
      .filter((cell, nth) => isOtherEnd(cell, wanted[nth] ?? ""))
      .map((cell) => `"${cell}" says the opposite`);
  });
}

function rowsOf(blocks: Segment["after"]): string[][] {
  return blocks
    .filter(({ kind }) => kind === "row")
    .map(({ visible }) => visible.split(" | ").map((cell) => cell.replace(/[*`_]/g, "").replace(/\.$/, "")));
}

/** The row about the same, by its first cell. Two of them can't be told apart. */
function rowLike([first]: readonly string[], rows: readonly string[][]): string[] | undefined {
  const found = rows.filter(([cell]) => cell === first);
  return found.length === 1 ? found[0] : undefined;
}
