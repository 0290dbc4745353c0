import type { Check } from "./checks.ts";
import { type Files, textsOf } from "./files.ts";
import type { Solved } from "./rules/solved.ts";

/** A pattern with these takes whatever stands between its words. */
const ANYTHING = /\[\^|\.[*+{]|\\[SDW][*+{]/;

/**
 * True of what a solution writes, or leaves out, in a place that a `stands` check of the task
 * decides: its pattern takes other forms than the reference's, so rules don't refuse them.
 */
export function allowedBy(
  checks: readonly Check[],
  matcher: (globs: readonly string[]) => (path: string) => boolean,
  { before, after, reference }: Solved,
): (text: string) => boolean {
  const matches = checks.flatMap((check) => {
    if (check.kind !== "stands" || ANYTHING.test(check.matches)) return [];
    const pattern = new RegExp(check.matches, check.ignoreCase ? "gimu" : "gmu");
    const found = (files: Files) =>
      textsOf(files, matcher(check.in)).flatMap(([, text]) => text.match(pattern) ?? []);
    return [{ written: found(after), meant: found(reference ?? new Map()) }];
  });
  const has = (texts: readonly string[], words: string) => texts.some((text) => holds(text, words));
  // A whole file is judged by more than that.
  const isPath = (words: string) => before.has(words) || after.has(words);
  return (words) =>
    !isPath(words) &&
    matches.some(({ written, meant }) => {
      // In both, it is what the reference has, and no other form.
      return has(written, words) !== has(meant, words);
    });
}

function holds(text: string, words: string): boolean {
  const whole = new RegExp(`(?<![\\p{L}\\d_])${RegExp.escape(words)}(?![\\p{L}\\d_])`, "u");
  return whole.test(text);
}
