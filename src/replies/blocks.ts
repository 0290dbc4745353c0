import type {
  Button,
  ContextBlock,
  KnownBlock,
  RichTextBlock,
  RichTextElement,
  RichTextQuote,
} from "@slack/types";
import { cut } from "../core/text.ts";
import { SECTION_TEXT_MAX } from "./limits.ts";

/** A message as Slack takes it. `text` is what notifications and screen readers get. */
export type Rendered = {
  text: string;
  blocks: KnownBlock[];
  /** The same for a workspace that doesn't take plans, tasks or feedback buttons. Absent: there are none in `blocks`. */
  plainBlocks?: KnownBlock[];
};

/** A section of mrkdwn that is ours, or escaped. `verbatim`: Slack makes no links or mentions of what only looks like one. */
export function section(mrkdwn: string): KnownBlock {
  return { type: "section", text: { type: "mrkdwn", text: mrkdwn, verbatim: true } };
}

/** A section of anybody's text: nothing in it is markup. */
export function plainSection(text: string): KnownBlock {
  return { type: "section", text: { type: "plain_text", text: cut(text, SECTION_TEXT_MAX), emoji: false } };
}

/** A quotation of anybody's text: `rich_text` carries it as text, so nothing in it is markup and nobody is pinged. */
export function quote(elements: RichTextElement[]): RichTextBlock {
  return { type: "rich_text", elements: [quotePart(elements)] };
}

/** As {@link quote}, as a part of a block. */
export function quotePart(elements: RichTextElement[]): RichTextQuote {
  return { type: "rich_text_quote", elements };
}

export function quoteText(text: string): RichTextBlock {
  return quote([{ type: "text", text }]);
}

/** A button. */
export function labelled(actionId: string, label: string): Button {
  return { type: "button", action_id: actionId, text: { type: "plain_text", text: label } };
}

/** A line of small print: anybody's text. */
export function context(texts: string[]): ContextBlock {
  return {
    type: "context",
    elements: texts
      .slice(0, 10)
      .map((text) => ({ type: "plain_text", text: cut(text, SECTION_TEXT_MAX), emoji: false })),
  };
}

/** A line of small print: mrkdwn of ours, and then anybody's text. */
export function labelledText(mrkdwn: string, text: string): ContextBlock {
  return {
    type: "context",
    elements: [
      { type: "mrkdwn", text: mrkdwn, verbatim: true },
      { type: "plain_text", text, emoji: false },
    ],
  };
}

/** A line of anybody's text in which one part may be a link. */
export function linkedLine(line: string, link: { url: string; label: string } | null): RichTextBlock {
  const at = link === null ? -1 : line.indexOf(link.label);
  const parts: RichTextElement[] =
    link === null || at === -1
      ? [{ type: "text", text: line }]
      : [
          { type: "text", text: line.slice(0, at) },
          { type: "link", url: link.url, text: link.label },
          { type: "text", text: line.slice(at + link.label.length) },
        ];
  const elements = parts.filter((part) => part.type !== "text" || part.text !== "");
  return { type: "rich_text", elements: [{ type: "rich_text_section", elements }] };
}
