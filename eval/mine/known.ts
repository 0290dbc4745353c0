import { type Files, textOf } from "../files.ts";
import { likeness, wordsOf } from "../rules/turned.ts";
import type { Place } from "./places.ts";
import { isSlip, topicsOf } from "./words.ts";

/** The lines around a mention that say what it is about. */
const AROUND = 3;
const MAX_MENTIONS = 40;
/** More of a line isn't read. */
const MAX_LINE = 4000;
/** What was made by a program, where any number stands beside any word. */
const DATA = /(?:^|[/.-])(?:lock|min|snap|fixtures?)(?:[/.-]|$)|\.(?:svg|lock|map|csv|html|ipynb)$/i;
/** From here on, two lines say the same of something. */
const ALIKE = 0.6;
/** A shorter line is alike by chance. */
const MIN_WORDS = 3;
/** A name that is this long, and more than a word, is known wherever it stands. */
const LONG_NAME = 8;

/** Texts that are searched for what a solution has to know: the docs, and all else. */
export type Texts = { docs: readonly Text[]; code: readonly Text[] };
type Text = readonly [path: string, text: string];

/** The texts among some files. */
export function textsIn(files: Files, isDocs: (path: string) => boolean): Texts {
  const docs: Text[] = [];
  const code: Text[] = [];
  for (const [path, content] of files) {
    const text = textOf(content);
    if (text !== null) (isDocs(path) ? docs : code).push([path, text]);
  }
  return { docs, code };
}

/** Words as a part of a pattern, still readable in a task's file. */
export function escaped(words: string): string {
  return words.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

/** Matches a token that isn't part of another one. Flags: `u`. */
export function asPattern(token: string): string {
  const words = token.trim().split(/\s+/).map(escaped).join("\\s+");
  const before = /^[\p{L}\p{N}_]/u.test(token) ? "(?<![\\p{L}\\p{N}_-])(?<!\\d[.,])" : "";
  const after = /[\p{L}\p{N}_]$/u.test(token) ? "(?![\\p{L}\\p{N}_-])(?![.,]\\d)" : "";
  return `${before}${words}${after}`;
}

/** True if a text has a token, and not only as part of another one. */
export function hasToken(text: string, token: string): boolean {
  return text.includes(token.trim().split(/\s+/)[0] ?? "") && new RegExp(asPattern(token), "u").test(text);
}

/**
 * True if code has a token next to words about the same as a place. A number or a short name needs
 * them in its line. A word in small letters may be anything.
 */
export function isInCode(token: string, place: Place, request: string, { code }: Texts): boolean {
  if (/^\p{Ll}+$/u.test(token)) return false;
  const about = topicsOf(`${place.before} ${place.under ?? ""} ${request}`);
  for (const topic of topicsOf(token)) about.delete(topic);
  const isName = token.length >= LONG_NAME && /[\p{L}\d][-_./:@]+[\p{L}\d]|\p{Ll}\p{Lu}|^--/u.test(token);
  const [enough, around] = isName ? [1, AROUND] : [2, 0];
  let left = MAX_MENTIONS;
  for (const { path, lines, nth } of mentions(token, code)) {
    if (DATA.test(path)) continue;
    const near = lines.slice(Math.max(0, nth - around), nth + around + 1).join(" ");
    const topics = topicsOf(near.slice(0, MAX_LINE));
    if ([...about].filter((topic) => topics.has(topic)).length >= enough) return true;
    left -= 1;
    if (left === 0) return false;
  }
  return false;
}

/** True if another line of the docs has a token in almost the same words. */
export function isInDocs(token: string, place: Place, { docs }: Texts): boolean {
  const old = new Set(place.before.split("\n"));
  const brought = place.after.split("\n").filter((line) => !old.has(line) && hasToken(line, token));
  if (brought.length === 0) return false;
  for (const { lines, nth } of mentions(token, docs)) {
    const words = wordsOf(lines[nth] ?? "");
    if (words.length < MIN_WORDS) continue;
    if (brought.some((line) => likeness(wordsOf(line), words) >= ALIKE)) return true;
  }
  return false;
}

type Mention = { path: string; lines: string[]; nth: number };

function* mentions(token: string, texts: readonly Text[]): Generator<Mention> {
  const pattern = new RegExp(asPattern(token), "u");
  for (const [path, text] of texts) {
    if (!text.includes(token)) continue;
    const lines = text.split("\n");
    for (const [nth, line] of lines.entries())
      if (line.includes(token) && pattern.test(line)) yield { path, lines, nth };
  }
}

/**
 * True if a place only mends slips of the hand, which everybody sees: what stood there stands
 * nowhere else, and what comes does.
 */
export function isSlipOnly({ path, kind, old, brought }: Place, { docs, code }: Texts): boolean {
  if (kind === "prose" || old.length !== brought.length || old.length === 0) return false;
  const isElsewhere = (token: string) =>
    [...docs, ...code].some(([other, text]) => other !== path && hasToken(text, token));
  return old.every((word, nth) => {
    const right = brought[nth] ?? "";
    const isCase = word.toLowerCase() === right.toLowerCase();
    return !isCase && isSlip(word, right) && !isElsewhere(word) && isElsewhere(right);
  });
}

/** True if the request has a word, in whatever form, or the parts of an address that are new. */
export function isSaid(token: string, request: string, place: Place): boolean {
  if (!/[\p{L}\p{N}]/u.test(token)) return false;
  if (hasToken(request, token)) return true;
  if (/^https?:\/\//.test(token)) {
    const known = [request, ...place.old.filter((other) => other !== token)].join("\n");
    const parts = token.replace(/^https?:\/\//, "").split(/[/?#&=]/);
    return parts.every((part) => part === "" || hasToken(known, part));
  }
  const [said, its] = [request, token].map((text) => text.toLowerCase());
  return said !== undefined && its !== undefined && hasToken(said, its);
}
