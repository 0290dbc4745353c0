import { createHash } from "node:crypto";
import { changedPaths, type Files, textOf } from "../files.ts";
import { matterOf } from "../page/blocks.ts";

/** A stretch of a page between blank lines. Samples are one, whatever blank lines they have. */
export type Part = { text: string; kind: "prose" | "sample" | "table" | "list" | "heading" | "matter" };

/** A page of a solution, in parts. `isKept` tells of each if the page had it before. */
export type PartedPage = { path: string; parts: Part[]; isKept: boolean[] };

/** Chooses one of a list, always the same one for the same words. Undefined of an empty list. */
export function chosen<Item>(list: readonly Item[], ...words: string[]): Item | undefined {
  return list.length === 0 ? undefined : list[numberOf(words.join("\n")) % list.length];
}

/** A number that depends on the words alone. */
export function numberOf(words: string): number {
  return createHash("sha256").update(words).digest().readUInt32BE(0);
}

/** The pages of a solution that differ from the base. */
export function partedPages(base: Files, result: Files): PartedPage[] {
  const isPage = (path: string) => /\.mdx?$/.test(path) && result.has(path);
  const changed = changedPaths(base, result).filter(isPage);
  return changed.map((path) => {
    const before = new Set(partsOf(textOf(base.get(path)) ?? "").map(({ text }) => text));
    const parts = partsOf(textOf(result.get(path)) ?? "");
    return { path, parts, isKept: parts.map(({ text }) => before.has(text)) };
  });
}

/** The text of a page, from its parts. */
export function textOfParts(parts: readonly Part[]): string {
  return `${parts.map(({ text }) => text).join("\n\n")}\n`;
}

function partsOf(text: string): Part[] {
  const parts: Part[] = [];
  const open: string[] = [];
  let fence: string | null = null;
  const close = () => {
    const joined = open.splice(0).join("\n");
    if (joined.trim() !== "") parts.push({ text: joined, kind: kindOf(joined) });
  };
  const matter = matterOf(text);
  if (matter !== "") parts.push({ text: matter, kind: "matter" });
  for (const line of text.slice(matter.length).split("\n")) {
    const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1] ?? null;
    if (mark !== null && fence === null) fence = mark;
    else if (mark !== null && mark === fence) fence = null;
    if (line.trim() === "" && fence === null) close();
    else open.push(line);
  }
  close();
  return parts;
}

function kindOf(text: string): Part["kind"] {
  if (/^\s*(?:`{3,}|~{3,})/m.test(text)) return "sample";
  if (text.startsWith("|")) return "table";
  if (/^#+ /.test(text)) return "heading";
  return /^\s*(?:[-*+]|\d+\.) /.test(text) ? "list" : "prose";
}
