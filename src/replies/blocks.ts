import type {
  Button,
  ContextBlock,
  KnownBlock,
  RichTextBlock,
  RichTextElement,
  RichTextQuote,
} from "@slack/types";
import { cut } from "../core/text/text.ts";

/** Slack's limits, in characters, from the Block Kit reference; ours stay below them. */
export const SECTION_TEXT_MAX = 3000;
/** Slack recommends to keep a message's `text` at or below this. */
export const MESSAGE_TEXT_MAX = 4000;

/** How much of what a person typed is shown again in the thread. */
export const ECHO_MAX = 1500;
/** How much of a state is shown, escaped: it may name the agent's step or the pull request. */
export const STATE_MAX = 800;
/** How much of what the job service said is shown. */
export const SAID_MAX = 500;
/** The longest link, escaped: it stands in a section together with our own words. */
export const LINK_MAX = 2000;
/** How much of a list of names is shown. */
export const NAMES_MAX = 2000;
/** How much of a repository, branch or model name is shown. */
export const NAME_MAX = 100;
/** A plan's or a task's title: as long as a header. Slack documents no limit. */
export const TITLE_MAX = 150;
/**
 * The value of a menu's entry:
 * https://docs.slack.dev/reference/block-kit/composition-objects/option-object
 */
export const OPTION_VALUE_MAX = 150;

/** What the messages need to know of this installation, whatever the team. */
export type Presentation = {
  /** Names of the projects, the default first. */
  projects: string[];
  /** The deadline, in words. */
  watchedFor: string;
  /** Who can help when a person can't, as mrkdwn of the operator's. */
  contact: string;
  /** Origins (`http://host:port`) whose pull requests are links although they are not https. */
  httpOrigins: string[];
};

/**
 * The team that a message is for: the app's own name there, without the `@`, and the address that
 * its links begin with.
 */
export type TeamView = { botName: string; teamUrl: string };

/** A message as Slack takes it. `text` is what notifications and screen readers get. */
export type Rendered = {
  text: string;
  blocks: KnownBlock[];
  /**
   * The same for a workspace that doesn't take plans, tasks or feedback buttons. Absent: there are
   * none in `blocks`.
   */
  plainBlocks?: KnownBlock[];
};

/**
 * A section of mrkdwn that is ours, or escaped. `verbatim`: Slack makes no links or mentions of
 * what only looks like one.
 */
export function section(mrkdwn: string): KnownBlock {
  return { type: "section", text: { type: "mrkdwn", text: mrkdwn, verbatim: true } };
}

/** A section of anybody's text: nothing in it is markup. */
export function plainSection(text: string): KnownBlock {
  return { type: "section", text: { type: "plain_text", text: cut(text, SECTION_TEXT_MAX), emoji: false } };
}

/**
 * A quotation of anybody's text: `rich_text` carries it as text, so nothing in it is markup and
 * nobody is pinged.
 */
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
