import type { RichTextBlock, RichTextElement, RichTextList } from "@slack/types";
import { linePart } from "./blocks.ts";

type Parts = RichTextBlock["elements"];

/** A fence, its code, and the fence that ends it, or the end of the text. */
const CODE = /^ {0,3}(`{3,}|~{3,}).*\n([^]*?)(?:^ {0,3}\1.*$|(?![^]))/m;
const HEADING = /^#{1,6} +(?<title>.+?)[ #]*$/;
const BULLET = /^(?<indent> *)[-*+] +/;
const BOLD = { bold: true };
const CODE_STYLE = { code: true };
/** Addresses stay text. Code and file names become code, and strong text becomes bold. */
const INLINE = new RegExp(
  [
    String.raw`(?<address>https?:\/\/\S+)`,
    "`(?<code>[^`\\n]+)`",
    String.raw`\*\*(?<strong>[^*\n]+)\*\*`,
    String.raw`(?<![\w.@/-])(?<file>(?:[\w.@-]+\/)*[\w-][\w.-]*\.(?:mdx?|rst|adoc|txt|json|ya?ml|toml|html?` +
      String.raw`|css|[cm]?[jt]sx?|py|rb|go|rs|sh)(?::\d+)?)(?![\w/-])`,
  ].join("|"),
  "g",
);

/**
 * An agent's answer as rich text, in which nothing is a link, a mention or an emoji. Code,
 * headings, lists and strong text look as usual in Slack; other Markdown stays as written.
 */
export function answerParts(answer: string): Parts {
  // Text, and a fence with its code, in turns.
  return answer.split(CODE).flatMap((text, at): Parts => {
    const kind = at % 3;
    const shown = text.replace(/^\n|\n$/g, "");
    if (kind === 1 || shown.trim() === "") return [];
    if (kind === 2) return [{ type: "rich_text_preformatted", elements: [{ type: "text", text: shown }] }];
    return [{ type: "rich_text_section", elements: shown.split("\n").flatMap(inLine) }];
  });
}

/** Untrusted lines as a list. */
export function bulleted(lines: readonly string[]): RichTextList {
  const elements = lines.map((text) => linePart({ type: "text", text }));
  return { type: "rich_text_list", style: "bullet", elements };
}

function inLine(line: string, n: number): RichTextElement[] {
  const before: RichTextElement[] = n === 0 ? [] : [{ type: "text", text: "\n" }];
  const title = HEADING.exec(line)?.groups?.["title"];
  if (title !== undefined) return [...before, { type: "text", text: title, style: BOLD }];
  const text = line.replace(BULLET, "$<indent>• ");
  const parts: RichTextElement[] = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    const { code, strong, file } = match.groups ?? {};
    const [shown, style] = strong === undefined ? [code ?? file, CODE_STYLE] : [strong, BOLD];
    if (shown === undefined) continue;
    parts.push({ type: "text", text: text.slice(at, match.index) }, { type: "text", text: shown, style });
    at = match.index + match[0].length;
  }
  parts.push({ type: "text", text: text.slice(at) });
  return [...before, ...parts.filter((part) => part.type !== "text" || part.text !== "")];
}
