/** A range of a file's lines before a change: the first, and the first after it. */
export type LineRange = { from: number; to: number };

/** Changes this near to each other are about the same lines. */
const NEAR_LINES = 3;
const RANGES_MAX = 10_000;

/**
 * True if two changes of the same version of a file are about the same lines: they touch lines that
 * are at most three apart. Each is as git writes it, without what is around the changes.
 */
export function touchSameLines(patches: { one: Uint8Array; other: Uint8Array }): boolean {
  const others = changedLines(Buffer.from(patches.other).toString("latin1"));
  let at = 0;
  // Both are in the file's order.
  for (const { from, to } of changedLines(Buffer.from(patches.one).toString("latin1"))) {
    while (at < others.length && (others[at]?.to ?? 0) + NEAR_LINES < from) at += 1;
    const other = others[at];
    if (other !== undefined && other.from <= to + NEAR_LINES) return true;
  }
  return false;
}

/** The lines that a change of one file replaces, in order. Nothing is before an added line. */
export function changedLines(patch: string): LineRange[] {
  const ranges: LineRange[] = [];
  for (const [, start = "", count = "1"] of patch.matchAll(/^@@ -(\d{1,9})(?:,(\d{1,9}))? \+/gm)) {
    // Lines are added after the one that git names.
    const from = count === "0" ? Number(start) + 1 : Number(start);
    ranges.push({ from, to: from + Number(count) });
    if (ranges.length >= RANGES_MAX) break;
  }
  return ranges;
}
