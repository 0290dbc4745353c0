import type {
  ActionsBlock,
  Button,
  ContextBlock,
  KnownBlock,
  PlainTextElement,
  RichTextBlock,
  RichTextElement,
  RichTextList,
  RichTextPreformatted,
  RichTextQuote,
  RichTextSection,
  SectionBlock,
} from "@slack/types";
import { cut } from "../../shared/text/text.ts";
import type { Turn } from "../rules/turn/turn.ts";
import { buttonValue } from "./actions.ts";

/** Slack's limits in characters, from the Block Kit reference. Ours stay below them. */
const SECTION_TEXT_MAX = 3000;
/** Slack recommends keeping a message's `text` at or below this. */
export const MESSAGE_TEXT_MAX = 4000;

/** The most characters of a person's own words that the thread repeats. */
export const ECHO_MAX = 1500;
/** The most characters of a state, escaped. It may name the agent's step or the pull request. */
export const STATE_MAX = 800;
/** The most characters of the job service's words. */
export const SAID_MAX = 500;
/** The longest link, escaped. It shares a section with our own words. */
export const LINK_MAX = 2000;
/** The most characters of a list of names. */
export const NAMES_MAX = 2000;
/** The most characters of a person's words that fit into a message beside our own. */
export const TYPED_MAX = 10_000;
/** The most characters of a repository, branch or model name. */
export const NAME_MAX = 100;
/**
 * The most characters of a plan's or task's title, the same as for a header. Slack documents no
 * limit.
 */
export const TITLE_MAX = 150;
/**
 * The longest value of a menu's entry:
 * https://docs.slack.dev/reference/block-kit/composition-objects/option-object
 */
export const OPTION_VALUE_MAX = 150;

/** What messages need to know about this installation, the same for every team. */
export type Presentation = {
  /** Project names. The first is the default unless `asksForProject`. */
  projects: string[];
  /** True if nobody gets a project that neither they nor the operator has chosen. */
  asksForProject: boolean;
  /** The deadline in words. */
  watchedFor: string;
  /** The person to contact for help, in the operator's mrkdwn. */
  contact: string;
  /** True if the app changes nothing in a channel. */
  isAskOnly: (channelId: string) => boolean;
  /** Origins (`http://host:port`) whose pull requests become links although they aren't https. */
  httpOrigins: string[];
};

/**
 * The team that a message is for: the app's name there, without the `@`, and the address that the
 * team's links begin with.
 */
export type TeamView = { botName: string; teamUrl: string };

/** What a message may need to know besides its content. */
export type View = Presentation & TeamView;

/** A message in Slack's format. Notifications and screen readers use `text`. */
export type Rendered = {
  text: string;
  blocks: KnownBlock[];
  /**
   * Blocks for a workspace that doesn't accept plans, tasks or feedback buttons. Absent if `blocks`
   * has none of these.
   */
  plainBlocks?: KnownBlock[];
};

/** A message that begins with one paragraph, which is its text too. */
export function paragraph(text: string, ...more: KnownBlock[]): Rendered {
  return { text, blocks: [section(text), ...more] };
}

/**
 * A section of our own or escaped mrkdwn. `verbatim` keeps Slack from making links or mentions of
 * text that only looks like them.
 */
export function section(mrkdwn: string): SectionBlock {
  return { type: "section", text: { type: "mrkdwn", text: mrkdwn, verbatim: true } };
}

/** A section of untrusted text, in which nothing is markup. */
export function plainSection(text: string): KnownBlock {
  return { type: "section", text: untrusted(cut(text, SECTION_TEXT_MAX)) };
}

/**
 * A block of rich text. It carries untrusted text as plain text, so nothing in it is markup and
 * nobody is pinged.
 */
export function richText(...parts: RichTextBlock["elements"]): RichTextBlock {
  return { type: "rich_text", elements: parts };
}

/** Words of a line or quotation in rich text. */
export function words(text: string, style?: { bold: true } | { code: true }): RichTextElement {
  return { type: "text", text, ...(style && { style }) };
}

export function linePart(...elements: RichTextElement[]): RichTextSection {
  return { type: "rich_text_section", elements };
}

export function quotePart(...elements: RichTextElement[]): RichTextQuote {
  return { type: "rich_text_quote", elements };
}

export function codePart(text: string): RichTextPreformatted {
  return { type: "rich_text_preformatted", elements: [{ type: "text", text }] };
}

export function listPart(
  style: "bullet" | "ordered",
  lines: readonly (string | RichTextElement[])[],
): RichTextList {
  const elements = lines.map((line) => linePart(...(typeof line === "string" ? [words(line)] : line)));
  return { type: "rich_text_list", style, elements };
}

export function quoteText(text: string): RichTextBlock {
  return richText(quotePart(words(text)));
}

/** A row of buttons and menus. None if it is empty. */
export function actions(elements: ActionsBlock["elements"]): ActionsBlock[] {
  return elements.length === 0 ? [] : [{ type: "actions", elements }];
}

/** A text in which nothing is markup. */
export function unstyled(text: string): PlainTextElement {
  return { type: "plain_text", text };
}

/** Untrusted text, in which nothing is markup or becomes an emoji. */
export function untrusted(text: string): PlainTextElement {
  return { type: "plain_text", text, emoji: false };
}

/** An entry of a menu. `value` is what its handler reads. */
export function entry(text: string, value: string) {
  return { text: unstyled(text), value };
}

/** A button. `value` is what its handler reads. */
export function labeled(actionId: string, label: string, value?: string): Button {
  return {
    type: "button",
    action_id: actionId,
    text: unstyled(label),
    ...(value !== undefined && { value }),
  };
}

/** A button that belongs to one watch of a turn. */
export function turnButton(actionId: string, label: string, turn: Pick<Turn, "id" | "watch">): Button {
  return labeled(actionId, label, buttonValue.write({ turnId: turn.id, watch: turn.watch }));
}

/** A line of small print with untrusted text. */
export function context(texts: string[]): ContextBlock {
  return {
    type: "context",
    elements: texts.slice(0, 10).map((text) => untrusted(cut(text, SECTION_TEXT_MAX))),
  };
}

/** A line of small print: our own mrkdwn, then untrusted text. */
export function labeledText(mrkdwn: string, text: string): ContextBlock {
  return { type: "context", elements: [{ type: "mrkdwn", text: mrkdwn, verbatim: true }, untrusted(text)] };
}

/** A line of untrusted text in which one part may be a link. */
export function linkedLine(line: string, link: { url: string; label: string } | null): RichTextBlock {
  const at = link === null ? -1 : line.indexOf(link.label);
  if (link === null || at === -1) return richText(linePart(words(line)));
  const [before, after] = [line.slice(0, at), line.slice(at + link.label.length)];
  return richText(
    linePart(
      ...(before === "" ? [] : [words(before)]),
      { type: "link", url: link.url, text: link.label },
      ...(after === "" ? [] : [words(after)]),
    ),
  );
}
