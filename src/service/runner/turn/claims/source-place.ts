import { anyEnding, PAGE_ENDINGS } from "../../../base/page-endings.ts";
import { posix } from "node:path";
import { isSafePath } from "../../workspace/tree/names.ts";

/** The folders in which an agent saw the files of each repository, by the repository's name. */
export type SeenAt = ReadonlyMap<string, readonly string[]>;

/** A path in the repository of that name. */
export type SourcePlace = { repository: string; path: string };

/**
 * The place that an agent means, which writes paths as its tools show them: `./src/cli.ts`, or with
 * the folder that its files are in. Null if it is in no repository.
 */
export function sourcePlace({ repository, path }: SourcePlace, seenAt: SeenAt): SourcePlace | null {
  const normal = posix.normalize(path);
  if (!normal.startsWith("/")) return isSafePath(normal) ? { repository, path: normal } : null;
  for (const [name, folders] of seenAt) {
    const folder = folders.find((each) => normal.startsWith(`${each}/`));
    const inside = folder === undefined ? "" : normal.slice(folder.length + 1);
    if (isSafePath(inside)) return { repository: name, path: inside };
  }
  return null;
}

/** The number of a line, as tools add it to a path: `src/cli.ts:12`, `src/cli.ts#L12-L14`. */
const LINE_SUFFIX = /(?::\d{1,9}){1,2}(?:-\d{1,9})?$|#L\d{1,9}(?:-L\d{1,9})?$/;

/** The path without the number of a line at its end. */
export function withoutLine(path: string): string {
  return path.replace(LINE_SUFFIX, "");
}

/** Where a link of that path in the tree leads, with what follows it. Null if that is outside. */
export function linkedPath(link: string, target: string, rest: string): string | null {
  if (target.startsWith("/")) return null;
  const path = posix.join(posix.dirname(link), target, rest);
  return isSafePath(path) ? path : null;
}

const PROSE = anyEnding(
  [
    PAGE_ENDINGS,
    "mdown",
    "mkdn?",
    "rest",
    "asc",
    "txt",
    "html?",
    "rmd",
    "org",
    "textile",
    "wiki",
    "ipynb",
  ].flat(),
);

/** True if files of this name hold text that is written for readers. */
export function isProse(path: string): boolean {
  return PROSE.test(path);
}
