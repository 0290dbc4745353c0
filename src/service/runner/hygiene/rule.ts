import { oneLine } from "../../base/printable-text.ts";
import { lineAt, type DocPage } from "./page.ts";

/** What people said about the change. `words` are the requester's own. */
export type Facts = { words: string; quotedNames: readonly string[] };

/**
 * Something that a page shouldn't have. `at` is its offset. `key` is the text around: what the page
 * had before under the same key isn't new.
 */
export type Trace = { at: number; key: string; says: string };

/**
 * What a rule finds on a page. `before` is the page as it was, or null for a new one. A rule that
 * can't be sure finds nothing.
 */
export type Rule = (page: DocPage, before: DocPage | null, facts: Facts) => Trace[];

const SHOWN_CHARS = 60;

/** A part of a page as a sentence quotes it: one short line. */
export function shown(text: string): string {
  return `"${oneLine(text, SHOWN_CHARS)}"`;
}

/** A part of a regular expression that matches one of these phrases, which commas part. */
export function anyOf(phrases: string): string {
  return `(?:${phrases.split(", ").join("|")})`;
}

/** The line of the text at an offset. */
export function lineTextAt(page: DocPage, at: number): string {
  return page.lines[lineAt(page, at) - 1] ?? "";
}

/** A text in which only words count, as a key. */
export function keyOfText(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** The lines of a page with their offsets. `inside` is where to look: the text, or its prose. */
export function eachLine(page: DocPage, inside: string = page.text): { line: string; at: number }[] {
  return page.starts.map((at, nth) => {
    const { length } = page.lines[nth] ?? "";
    return { line: inside.slice(at, at + length), at };
  });
}

const FORM = /(?:^|\/)(?:issue_template|pull_request_template)\b/i;

/** True for a code host's forms, which speak to whoever fills them in. */
export function isForm({ path }: DocPage): boolean {
  return FORM.test(path);
}
