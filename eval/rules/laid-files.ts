import { changedPaths, type Files, textOf } from "../files.ts";
import { type Aligned, aligned } from "../page/align.ts";
import { type Block, blocksOf } from "../page/blocks.ts";
import type { Solved } from "./solved.ts";

/** A file that the reference or the solution changes, laid beside the reference's. */
export type LaidFile = Aligned & {
  path: string;
  before: Block[];
  reference: Block[];
  after: Block[];
  isOf: "both" | "reference" | "solution";
};

/** A page that moved has at least this share of its blocks. */
const MOVED_SHARE = 0.5;

/** The text files that the reference or the solution changes. A page that moved keeps its past. */
export function laidFiles({ before, after, reference }: Solved): LaidFile[] {
  if (reference === null) return [];
  const byReference = new Set(changedPaths(before, reference));
  const bySolution = new Set(changedPaths(before, after));
  const past = pastOf(before, reference);
  return [...new Set([...byReference, ...bySolution])].flatMap((path): LaidFile[] => {
    const texts = [past.get(path) ?? before.get(path), reference.get(path), after.get(path)];
    // A page that moves away is judged at its new place.
    if (texts[1] === undefined && byReference.has(path)) return [];
    if (texts.some((content) => content !== undefined && textOf(content) === null)) return [];
    const [one = [], other = [], third = []] = texts.map((content) => blocksOf(path, textOf(content) ?? ""));
    const isOf = !byReference.has(path) ? "solution" : bySolution.has(path) ? "both" : "reference";
    return [{ path, before: one, reference: other, after: third, isOf, ...aligned(one, other, third) }];
  });
}

/** For pages that the reference moves, what they were at their old place. */
function pastOf(before: Files, reference: Files): Map<string, Buffer> {
  const changed = changedPaths(before, reference);
  const gone = changed.filter((path) => !reference.has(path));
  const past = new Map<string, Buffer>();
  for (const path of changed.filter((each) => !before.has(each))) {
    const forms = new Set(blocksOf(path, textOf(reference.get(path)) ?? "").map(({ form }) => form));
    for (const old of gone) {
      const content = before.get(old);
      const its = blocksOf(old, textOf(content) ?? "");
      const same = its.filter(({ form }) => forms.has(form)).length;
      if (content !== undefined && same >= MOVED_SHARE * its.length) past.set(path, content);
    }
  }
  return past;
}
