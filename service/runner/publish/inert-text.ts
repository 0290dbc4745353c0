import { printableText } from "../printable-text.ts";

/** Invisible, and enough that a code host sees no name or number. */
const BREAK = "\u200b";
const REFERENCE_URL = /\/(issues|pull|pulls|discussions|merge_requests|commit)\/(?=[0-9a-f])/gi;

/**
 * Text that pings nobody, refers to nothing, closes nothing and hides nothing on a code host, and
 * reads as before: `@name`, `#1`, `GH-1` and links to issues lose their meaning, and `<` starts no
 * HTML.
 */
export function inertText(text: string): string {
  return printableText(text)
    .replace(/@(?=[\w-])/g, `@${BREAK}`)
    .replace(/#(?=\d)/g, `#${BREAK}`)
    .replace(/\b(gh)-(?=\d)/gi, `$1-${BREAK}`)
    .replace(/!(?=\d)/g, `!${BREAK}`)
    .replace(REFERENCE_URL, `/$1/${BREAK}`)
    .replace(/<(?=[a-z!/?])/gi, `<${BREAK}`);
}

/** Each line of the text as a Markdown quote, inert. */
export function quoted(text: string): string {
  return inertText(text)
    .split("\n")
    .map((line) => `> ${line}`.trimEnd())
    .join("\n");
}

/**
 * Markdown from somebody else, inert, with a fence that it leaves open closed: what follows is not
 * swallowed.
 */
export function closedMarkdown(text: string): string {
  const clean = inertText(text);
  let open: string | null = null;
  for (const line of clean.split("\n")) {
    const fence = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence === undefined) continue;
    if (open === null) open = fence;
    else if (fence.startsWith(open) && line.trim() === fence) open = null;
  }
  return open === null ? clean : `${clean}\n${open}`;
}

/** A file's name as Markdown code. */
export function fileName(path: string): string {
  return `\`${inertText(path).replaceAll(/[`\n\t]/g, "?")}\``;
}
