import { posix } from "node:path";
import { markdownRanges, touches } from "./markdown-ranges.ts";
import { countEdit, type Edit } from "./spelling.ts";

/** A text with its links repaired, and the links that couldn't be. */
export type LinkRepair = {
  text: string;
  edits: Edit[];
  /** Broken links that could mean several files. */
  ambiguous: { target: string; candidates: string[] }[];
  /** Broken links without a file of a similar name. */
  unknown: string[];
};

const TARGETS = [
  // [text](target "title"), pictures included, and the target of a definition.
  /(\]\(\s*<?)([^\s()<>]+(?:\([^\s()<>]*\)[^\s()<>]*)*)/g,
  /(^[ \t]{0,3}\[[^\]\n]+\]:[ \t]*<?)([^\s<>]+)/gm,
];
const NOT_RELATIVE = /^(?:[a-z][a-z0-9+.-]*:|\/|#|\?)/i;
const INDEXES = ["README", "index"];
const EXTENSIONS = [".md", ".mdx"];

/**
 * Corrects relative links whose file doesn't exist. Such a link then leads to the only file with
 * that name, or else to the only file whose name differs by at most two letters, or else to the
 * only file whose name begins like it. `path` and `files` are relative to the same folder, with
 * "/". `targets` are the links to look at, or null for all.
 */
export function repairLinks(
  path: string,
  text: string,
  isMdx: boolean,
  files: readonly string[],
  targets: readonly string[] | null = null,
): LinkRepair {
  const { code } = markdownRanges(text, isMdx);
  const counts = new Map<string, Edit>();
  const ambiguous = new Map<string, string[]>();
  const unknown = new Set<string>();

  function repair(whole: string, before: string, target: string, start: number): string {
    if (targets?.includes(target) === false) return whole;
    if (NOT_RELATIVE.test(target) || touches(code, { start, end: start + whole.length })) return whole;
    const { file, rest } = splitTarget(target);
    if (file === null || exists(path, file, files)) return whole;
    const candidates = candidatesFor(path, file, files);
    const [only] = candidates;
    if (only === undefined) unknown.add(target);
    else if (candidates.length > 1) ambiguous.set(target, candidates);
    else {
      const repaired = linkTo(path, only, file) + rest;
      countEdit(counts, target, repaired);
      return before + repaired;
    }
    return whole;
  }

  const repaired = TARGETS.reduce((current, pattern) => current.replaceAll(pattern, repair), text);
  return {
    text: repaired,
    edits: [...counts.values()],
    ambiguous: [...ambiguous].map(([target, candidates]) => ({ target, candidates })),
    unknown: [...unknown],
  };
}

/**
 * Splits off the decoded name of the file that a link leads to. It is null if it can't be decoded.
 */
function splitTarget(target: string): { file: string | null; rest: string } {
  const [, raw = "", rest = ""] = /^([^?#]*)(.*)$/.exec(target) ?? [];
  try {
    return { file: raw === "" ? null : decodeURIComponent(raw), rest };
  } catch {
    return { file: null, rest };
  }
}

function exists(path: string, file: string, files: readonly string[]): boolean {
  const at = posix.join(posix.dirname(path), file).replace(/\/$/, "");
  const wanted = at === "." ? [] : [at, ...EXTENSIONS.map((extension) => at + extension)];
  if (files.some((known) => wanted.includes(known))) return true;
  // This is a folder. Sites show its index, and code hosts its files.
  return at === "." || files.some((known) => known.startsWith(`${at}/`));
}

function candidatesFor(path: string, file: string, files: readonly string[]): string[] {
  const others = files.filter((known) => known !== path);
  const wanted = posix.basename(file).toLowerCase();
  const stem = stemOf(file);
  const extension = posix.extname(file).toLowerCase();
  const sameName = others.filter((known) => posix.basename(known).toLowerCase() === wanted);
  if (sameName.length > 0) return byParent(sameName, file);
  const isPage = extension === "" || EXTENSIONS.includes(extension);
  const alike = others.filter((known) =>
    isPage ? EXTENSIONS.includes(posix.extname(known)) : posix.extname(known).toLowerCase() === extension,
  );
  const sameStem = alike.filter((known) => stemOf(known) === stem);
  if (sameStem.length > 0) return byParent(sameStem, file);
  const near = alike
    .map((known) => ({ known, distance: distanceOf(stemOf(known), stem) }))
    .filter(({ distance }) => distance <= Math.min(2, Math.floor(stem.length / 3)));
  if (near.length === 0) return alike.filter((known) => beginsLike(stemOf(known), stem));
  const least = Math.min(...near.map(({ distance }) => distance));
  return near.filter(({ distance }) => distance === least).map(({ known }) => known);
}

/**
 * Of several files of the same name, returns those whose folder has the name that the link gives.
 */
function byParent(candidates: string[], file: string): string[] {
  const parent = posix.basename(posix.dirname(file));
  if (parent === "." || parent === "..") return candidates;
  const same = candidates.filter((known) => posix.basename(posix.dirname(known)) === parent);
  return same.length > 0 ? same : candidates;
}

/**
 * Writes a link in the style of the old one: with or without "./", with or without the extension.
 */
function linkTo(path: string, target: string, written: string): string {
  const hasExtension = posix.extname(written) !== "";
  const relative = posix.relative(posix.dirname(path), target);
  const isIndex = INDEXES.includes(posix.basename(target, posix.extname(target)));
  const shown = hasExtension || isIndex ? relative : relative.replace(/\.mdx?$/, "");
  const start = written.startsWith("./") && !shown.startsWith(".") ? "./" : "";
  return start + shown.split("/").map(escapeSegment).join("/");
}

function escapeSegment(segment: string): string {
  return segment === ".."
    ? segment
    : encodeURIComponent(segment).replaceAll(/[()]/g, (paren) => (paren === "(" ? "%28" : "%29"));
}

/** True for "config" and "configuration", in either order. */
function beginsLike(one: string, other: string): boolean {
  return Math.min(one.length, other.length) >= 4 && (one.startsWith(other) || other.startsWith(one));
}

/** Returns a file's name without its extension, for comparison. */
export function stemOf(path: string): string {
  return posix.basename(path, posix.extname(path)).toLowerCase();
}

/**
 * Counts the letters to insert, remove, change or swap with a neighbor to turn one word into the
 * other.
 */
export function distanceOf(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, index) => index)];
  for (let y = 1; y <= one.length; y += 1) {
    const row = [y];
    for (let x = 1; x <= other.length; x += 1) {
      const isSame = one[y - 1] === other[x - 1];
      const isSwap = x > 1 && y > 1 && one[y - 1] === other[x - 2] && one[y - 2] === other[x - 1];
      row.push(
        Math.min(
          (rows[y - 1]?.[x] ?? 0) + 1,
          (row[x - 1] ?? 0) + 1,
          (rows[y - 1]?.[x - 1] ?? 0) + (isSame ? 0 : 1),
          isSwap ? (rows[y - 2]?.[x - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    rows.push(row);
  }
  return rows[one.length]?.[other.length] ?? 0;
}
