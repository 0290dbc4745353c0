import { isMdx } from "./folder.ts";
import { repairLinks } from "./links.ts";
import { withoutChatter } from "./mood.ts";
import { replaceLiterally } from "./replacement.ts";
import { correctSpelling, type Edit, type WordList } from "./spelling.ts";
import type { Understanding } from "./understanding.ts";

/** The changes to one page, and what was left as it is. */
export type PageEdits = {
  path: string;
  text: string;
  spelling: Edit[];
  links: Edit[];
  replacements: Edit[];
  /** The text that was added at the end, or null. */
  added: string | null;
  /** True if words to the requester were taken out. */
  isTidied: boolean;
  /** One sentence for each thing that was left as it is. */
  left: string[];
};

/** Makes the changes that were understood in the text of one page. Reads and writes no files. */
export function editPage(
  path: string,
  original: string,
  understanding: Understanding,
  words: WordList,
  files: readonly string[],
): PageEdits {
  const mdx = isMdx(path);
  const none = { spelling: [], links: [], replacements: [], added: null, isTidied: false, left: [] };
  const edits: PageEdits = { path, text: original, ...none };
  if (understanding.addition !== null) {
    edits.added = understanding.addition;
    edits.text = `${original.trimEnd()}\n\n${understanding.addition}\n`;
  }
  for (const replacement of understanding.replacements) {
    const replaced = replaceLiterally(edits.text, mdx, replacement);
    edits.text = replaced.text;
    edits.replacements.push(...replaced.edits);
  }
  if (understanding.asked !== null) {
    edits.text = withoutChatter(edits.text);
    edits.isTidied = edits.text !== original;
  }
  if (understanding.isSpelling) {
    const corrected = correctSpelling(edits.text, mdx, words);
    edits.text = corrected.text;
    edits.spelling = corrected.edits;
  }
  if (understanding.isLinks) {
    const repaired = repairLinks(path, edits.text, mdx, files, understanding.brokenLinks);
    edits.text = repaired.text;
    edits.links = repaired.edits;
    edits.left = [
      ...repaired.ambiguous.map(
        ({ target, candidates }) => `the link to ${target} could mean ${candidates.join(" or ")}`,
      ),
      ...repaired.unknown.map((target) => `the link to ${target} leads nowhere, and no file is near it`),
    ];
  }
  return edits;
}
