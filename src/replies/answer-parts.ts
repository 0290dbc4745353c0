import type { RichTextBlock, RichTextElement, RichTextList, RichTextSection } from "@slack/types";

type Parts = RichTextBlock["elements"];

const FENCE = /^ {0,3}(?<marks>`{3,}|~{3,})/;
const HEADING = /^#{1,6} +(?<title>.+?)[ #]*$/;
const BULLET = /^(?<indent> *)[-*+] +/;
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
  const parts: Parts = [];
  let lines: string[] = [];
  let fence: string | null = null;
  const end = () => {
    const text = lines.join("\n");
    lines = [];
    if (text.trim() === "") return;
    if (fence === null) parts.push({ type: "rich_text_section", elements: text.split("\n").flatMap(inLine) });
    else parts.push({ type: "rich_text_preformatted", elements: [{ type: "text", text }] });
  };
  for (const line of answer.split("\n")) {
    const marks = FENCE.exec(line)?.groups?.["marks"];
    const isFence = marks !== undefined && (fence === null || marks.startsWith(fence));
    if (!isFence) {
      lines.push(line);
      continue;
    }
    end();
    fence = fence === null ? marks : null;
  }
  end();
  return parts;
}

/** Untrusted lines as a list. */
export function bulleted(lines: readonly string[]): RichTextList {
  const elements = lines.map((text): RichTextSection => ({
    type: "rich_text_section",
    elements: [{ type: "text", text }],
  }));
  return { type: "rich_text_list", style: "bullet", elements };
}

function inLine(line: string, n: number): RichTextElement[] {
  const before: RichTextElement[] = n === 0 ? [] : [{ type: "text", text: "\n" }];
  const title = HEADING.exec(line)?.groups?.["title"];
  if (title !== undefined) return [...before, { type: "text", text: title, style: { bold: true } }];
  const text = line.replace(BULLET, "$<indent>• ");
  const parts: RichTextElement[] = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    const { code, strong, file } = match.groups ?? {};
    const shown = code ?? file;
    if (shown === undefined && strong === undefined) continue;
    parts.push({ type: "text", text: text.slice(at, match.index) });
    parts.push(
      shown === undefined
        ? { type: "text", text: strong ?? "", style: { bold: true } }
        : { type: "text", text: shown, style: { code: true } },
    );
    at = match.index + match[0].length;
  }
  parts.push({ type: "text", text: text.slice(at) });
  return [...before, ...parts.filter((part) => part.type !== "text" || part.text !== "")];
}
