import { posix } from "node:path";
import type { PageEdits } from "./edit-page.ts";

const MIN_QUOTE = 12;

/** A statement and its source, as the job service wants them. */
type Source = {
  page: string;
  statement: string;
  source: { repository: "docs"; path: string; line: number; quote: string };
};

/** The sources of what was changed: a link's is the page that it leads to now. */
export async function sourcesOf(
  edits: readonly PageEdits[],
  files: readonly string[],
  read: (path: string) => Promise<string>,
): Promise<Source[]> {
  const links = edits.flatMap(({ path: page, links: made }) => made.map(({ to }) => ({ page, to })));
  const sources = links.map(async ({ page, to }): Promise<Source[]> => {
    const path = posix.join(posix.dirname(page), decodeURI(to.replace(/[?#].*$/, "")));
    if (!files.includes(path)) return [];
    const lines = (await read(path)).split("\n");
    const at = lines.findIndex((line) => line.trim().length >= MIN_QUOTE);
    const source = { repository: "docs" as const, path, line: at + 1, quote: lines[at] ?? "" };
    return [{ page, statement: `The link leads to ${path}.`, source }];
  });
  return (await Promise.all(sources)).flat();
}
