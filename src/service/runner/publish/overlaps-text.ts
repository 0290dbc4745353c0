import { listed } from "../../../shared/text/text.ts";

/**
 * Another open pull request that changes some of the same pages. Its texts are bounded and
 * redacted.
 */
export type Overlap = {
  url: string;
  /** `owner/repository#1`, or the number alone. */
  name: string;
  /** True if it changes the same lines, of these pages. */
  isSameLines: boolean;
  /** The first pages that both change. */
  paths: readonly string[];
  /** How many more pages there are. */
  morePaths: number;
};

/** Of all that is said in one sentence. */
const ROOM = 300;

/**
 * Names other pull requests: in one sentence those that change the same lines, and in another those
 * that only change the same pages. `showPath` is how a path is shown.
 */
export function overlapSentences(
  overlaps: readonly Overlap[],
  showPath: (path: string) => string = (path) => path,
): string[] {
  const told = (isSameLines: boolean) =>
    overlaps
      .filter((overlap) => overlap.isSameLines === isSameLines)
      .map(({ name, paths, morePaths }) => `${name} (${withMore(paths.map(showPath), morePaths)})`);
  const same = told(false);
  const others = same.length === 1 ? "Another open pull request changes" : "Other open pull requests change";
  return [sentence("Overlaps", told(true)), sentence(`${others} the same pages:`, same)].flat();
}

function sentence(says: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  let left = ROOM;
  const shown = names.filter((name, at) => (left -= name.length) >= 0 || at === 0);
  return [`${says} ${withMore(shown, names.length - shown.length)}.`];
}

function withMore(names: readonly string[], more: number): string {
  return listed(more === 0 ? names : [...names, `${more} more`]);
}
