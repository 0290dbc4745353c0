import { cut } from "../../../../shared/text/text.ts";
import { oneLine, redactedText } from "../../../base/printable-text.ts";
import type { Redact } from "../../../base/redaction.ts";
import { quotedLines } from "./review-material.ts";

/** What an open pull request changes in one page, as git writes it. */
export type OthersChange = { pull: string; path: string; patch: Uint8Array };

/** Of all that is passed on. */
const MAX_BYTES = 16 * 1024;
const MAX_PAGE_CHARS = 4000;
const MAX_PATH_CHARS = 300;
/** Of each text, what is compared with the request. */
const READ_CHARS = 64 * 1024;
/** A page of this name is called like its folder. */
const FOLDERS_OWN = /^(?:index|readme|_index)$/i;
const NEARNESS = { ownPage: 1000, named: 100 };

/**
 * What open pull requests change in pages that a request may be about, the likeliest first: those
 * that its own branch changes, those that it names, and those where its words stand in changed
 * lines. It is quoted for an agent, without secrets. Empty if there is nothing.
 */
export function othersChanges(
  { changes, prompt, pages }: { changes: readonly OthersChange[]; prompt: string; pages: readonly string[] },
  redact: Redact,
): string {
  const asked = wordsIn(prompt);
  const named = wordsIn(prompt, 2);
  const own = new Set(pages);
  const read = changes.map((change) => {
    const lines = linesOf(change.patch);
    return { ...change, lines, words: [...wordsIn(lines)].filter((word) => asked.has(word)) };
  });
  const counts = new Map<string, number>();
  for (const word of read.flatMap(({ words }) => words)) counts.set(word, (counts.get(word) ?? 0) + 1);
  // A word that stands in many of them tells nothing.
  const isTelling = (word: string) => (counts.get(word) ?? 0) <= Math.max(2, read.length / 3);
  const near = read
    .map(({ path, words, ...change }) => {
      const ofPage = own.has(path) ? NEARNESS.ownPage : isNamed(path, named) ? NEARNESS.named : 0;
      const nearness = words.filter(isTelling).length + ofPage;
      return { ...change, path, nearness };
    })
    .filter(({ nearness, lines }) => nearness > 0 && lines !== "")
    .toSorted((one, other) => other.nearness - one.nearness);
  const parts: string[] = [];
  let room = MAX_BYTES;
  for (const { pull, path, lines } of near) {
    const where = JSON.stringify(oneLine(redact(path), MAX_PATH_CHARS));
    const part = `${pull} changes ${where}:\n${quotedLines(redactedText(redact, lines, MAX_PAGE_CHARS))}`;
    const bytes = Buffer.byteLength(part);
    if (bytes > room) continue;
    parts.push(part);
    room -= bytes;
  }
  if (parts.length < near.length) parts.push("(There is more than fits.)");
  return parts.join("\n\n");
}

/** The changed lines and where they are. Empty if a file isn't text. */
function linesOf(patch: Uint8Array): string {
  const text = Buffer.from(patch).toString("utf8");
  const at = text.search(/^@@ /m);
  return at < 0 ? "" : text.slice(at);
}

/** True if all words of a page's name are among these. */
function isNamed(path: string, words: ReadonlySet<string>): boolean {
  const folders = path.split("/");
  const stem = (folders.pop() ?? "").replace(/\.\w+$/, "");
  const name = wordsIn(FOLDERS_OWN.test(stem) ? (folders.pop() ?? "") : stem, 2);
  return name.size > 0 && [...name].every((word) => words.has(word));
}

function wordsIn(text: string, least = 4): Set<string> {
  const words =
    cut(text, READ_CHARS)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  return new Set(words.filter((word) => word.length >= least));
}
