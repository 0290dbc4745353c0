import { blobsIn } from "../git.ts";
import type { Landed } from "./history.ts";
import type { ChangedPage } from "./places.ts";
import type { Found } from "./select.ts";

const AGAIN_MS = 90 * 24 * 3_600_000;

/**
 * True if lines of a commit that bring something were gone 90 days later. What was merged wasn't
 * right then, or not yet.
 */
export async function fixedAgain(
  { id, at }: Landed,
  { places }: Found,
  pages: readonly ChangedPage[],
  commits: readonly Landed[],
  gitDir: string,
): Promise<boolean> {
  const nth = commits.findIndex((commit) => commit.id === id);
  const later = commits.slice(0, nth).filter((commit) => commit.at.getTime() - at.getTime() <= AGAIN_MS);
  for (const { path, before, after } of pages) {
    const last = later.flatMap(({ files }) => files.find((file) => file.path === path)?.after ?? []).at(0);
    if (last === undefined) continue;
    const text = (await blobsIn(gitDir, [last])).get(last)?.toString() ?? after;
    const tokens = places.flatMap((place) => (place.path === path ? place.brought : []));
    if (isUndone({ before, after, text }, tokens)) return true;
  }
  return false;
}

/** True if a new line with one of the tokens is gone, or if what went is all there again. */
export function isUndone(
  { before, after, text }: { before: string; after: string; text: string },
  tokens: readonly string[],
): boolean {
  const [old, now, then] = [before, after, text].map(
    (each) =>
      new Set(
        each
          .split("\n")
          .map((line) => line.trim())
          .filter((line) => line !== ""),
      ),
  );
  if (old === undefined || now === undefined || then === undefined) return false;
  const brought = [...now].filter((line) => !old.has(line));
  const gone = [...old].filter((line) => !now.has(line));
  const telling = brought.filter((line) =>
    tokens.some((token) => line.includes(token.split(/\s+/)[0] ?? "")),
  );
  return telling.some((line) => !then.has(line)) || (gone.length > 0 && gone.every((line) => then.has(line)));
}
