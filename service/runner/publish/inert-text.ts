import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import { unified } from "unified";
import { printableText } from "../../base/printable-text.ts";

/** Invisible, and enough that a code host sees no name or number. */
const BREAK = "\u200b";
/** A sign written by its name or hexadecimal number. `inertWords` breaks decimal ones. */
const ENTITY = /&(?=#x[0-9a-f]|(?:commat|num|excl|sol);)/gi;
/** Also what a code host takes for an address, or for the end of a link. */
const MARKDOWN = /[\\`*_[\]()|~]/g;
const ADDRESS = /(?<=:)(?=\/\/)|(?<=\bwww)(?=\.)/gi;
const REFERENCE_URL = /\/(issues|pull|pulls|discussions|merge_requests|commit)\/(?=[0-9a-f])/gi;

/**
 * Text that pings nobody, refers to nothing and closes nothing on a code host, and reads as before,
 * where no HTML is read: `@name`, `#1`, `GH-1` and links to issues lose their meaning.
 */
export function inertWords(text: string): string {
  return withoutReferences(printableText(text)).replace(/@(?=[\w-])/g, `@${BREAK}`);
}

function withoutReferences(text: string): string {
  return text
    .replace(/#(?=\d)/g, `#${BREAK}`)
    .replace(/\b(gh)-(?=\d)/gi, `$1-${BREAK}`)
    .replace(/!(?=\d)/g, `!${BREAK}`)
    .replace(REFERENCE_URL, `/$1/${BREAK}`);
}

/** The same for Markdown, where `<` starts no HTML and `&commat;` is no way to write `@` either. */
export function inertText(text: string): string {
  return inertWords(text)
    .replace(/<(?=[a-z!/?])/gi, `<${BREAK}`)
    .replace(ENTITY, `&${BREAK}`);
}

const markdown = unified().use(remarkParse).use(remarkGfm).freeze();

/**
 * The same, but for code, where a code host sees no names and no HTML. Numbers of issues lose their
 * meaning there, too: the text may become a commit's message, in which nothing is code.
 */
export function inertMarkdown(text: string): string {
  const clean = printableText(text);
  let inert = "";
  let at = 0;
  try {
    for (const [from, to] of codeIn(markdown.parse(clean))) {
      inert += inertText(clean.slice(at, from)) + inertCode(clean.slice(from, to));
      at = to;
    }
    return inert + inertText(clean.slice(at));
  } catch {
    // Nested deeper than anybody can follow.
    return inertText(clean);
  }
}

/** Nor is it taken for one of our marks. */
function inertCode(code: string): string {
  return withoutReferences(code).replaceAll("<!--", `<${BREAK}!--`);
}

/** What of a node of Markdown's syntax tree is looked at. */
type MarkdownNode = {
  type: string;
  position?: { start: { offset?: number | undefined }; end: { offset?: number | undefined } } | undefined;
  children?: MarkdownNode[];
};

/** Where code stands, in order. */
function codeIn(node: MarkdownNode): [from: number, to: number][] {
  if (node.type === "code" || node.type === "inlineCode") {
    const { start, end } = node.position ?? {};
    return start?.offset === undefined || end?.offset === undefined ? [] : [[start.offset, end.offset]];
  }
  return node.children?.flatMap(codeIn) ?? [];
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
  const clean = inertMarkdown(text);
  const open = openFence(clean);
  return open === null ? clean : `${clean}\n${open}`;
}

/** One that is open in a list or a quote ends with that. */
function openFence(text: string): string | null {
  try {
    const followed = `${text}\n\nend`;
    const last = markdown.parse(followed).children.at(-1);
    if (last?.type !== "code") return null;
    return /^ *(`{3,}|~{3,})/.exec(followed.slice(last.position?.start.offset))?.[1] ?? null;
  } catch {
    return null;
  }
}

/** The same for what stands in a line, after words of ours: nothing there is a fence. */
export function markdownInLine(line: string): string {
  const before = "Words ";
  return inertMarkdown(before + line).slice(before.length);
}

/** Anybody's text as Markdown that reads as it was written: no link, no code, nothing bold. */
export function plainMarkdown(text: string): string {
  return inertText(text)
    .replaceAll(MARKDOWN, String.raw`\$&`)
    .replaceAll(ADDRESS, BREAK);
}

/** A file's name as Markdown code. */
export function fileName(path: string): string {
  return `\`${inertText(path).replaceAll(/[`\n\t]/g, "?")}\``;
}
