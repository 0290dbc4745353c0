import type { PlainText, TextObject } from "../../../world/slack/block-kit/objects.ts";
import type { RichTextBlock, RichTextElement } from "../../../world/slack/block-kit/rich-text.ts";
import { h, icon, unseen } from "./dom.ts";
import { emojiElement, withEmoji } from "./emoji.ts";
import { type Markup, parseMrkdwn } from "./mrkdwn.ts";

/** The parts of the workspace that rendering needs. */
export type ShownNames = {
  me: () => string;
  nameOf: (id: string) => string | undefined;
  /** Shows a channel, with a thread of it beside. */
  goTo: (channelId: string, threadTs?: string) => void;
  canGoTo: (channelId: string) => boolean;
};

/** Renders Slack's markup as nodes. */
export function renderMrkdwn(text: string, names: ShownNames, options?: { verbatim?: boolean }): Node[] {
  return parseMrkdwn(text, options).map((node) => renderNode(node, names, true));
}

/**
 * Renders `plain_text`. It contains no markup, but short names of emoji are replaced unless it says
 * not to.
 */
export function renderPlainText({ text, emoji }: PlainText): string {
  return emoji === false ? text : withEmoji(text);
}

/** Renders a text object as nodes. */
export function renderText(object: TextObject, names: ShownNames): (Node | string)[] {
  return object.type === "mrkdwn"
    ? renderMrkdwn(object.text, names, { verbatim: object.verbatim === true })
    : [renderPlainText(object)];
}

const TAGS = {
  bold: "strong",
  italic: "em",
  strike: "s",
  quote: "blockquote",
  code: "code",
  pre: "pre",
} as const;

function renderNode(node: Markup, names: ShownNames, readsEmoji: boolean): Node {
  switch (node.type) {
    case "text":
      return document.createTextNode(readsEmoji ? withEmoji(node.text) : node.text);
    case "link":
      return renderTextLink(node.url, node.label, names);
    case "user":
      return renderUser(node.id, names, node.label);
    case "channel":
      return renderChannel(node.id, names, node.label);
    case "group":
      return h("span", { class: "mention" }, node.label ?? `@${node.id}`);
    case "broadcast":
      return h("span", { class: "mention mention-me" }, `@${node.range}`);
    default: {
      const isCode = node.type === "code" || node.type === "pre";
      const children = node.children.map((child) => renderNode(child, names, readsEmoji && !isCode));
      return h(TAGS[node.type], null, ...children);
    }
  }
}

/**
 * Returns the address if people may follow it, or else null. Other addresses (`javascript:` …) are
 * shown as text.
 */
export function safeUrl(url: string): string | null {
  if (!URL.canParse(url)) return null;
  return ["http:", "https:", "mailto:"].includes(new URL(url).protocol) ? url : null;
}

/**
 * Matches a message's address at Slack: its channel, and the time of the message or of its thread's
 * root.
 */
const PERMALINK =
  /^https:\/\/[\w-]+\.slack\.com\/archives\/([CDG][A-Z0-9]+)\/p(\d+)(\d{6})(?:\?thread_ts=(\d+\.\d{6}))?/;

/** Renders a link inside a text. */
function renderTextLink(url: string, label: string | null | undefined, names: ShownNames): HTMLElement {
  const [isPermalink, channelId = "", seconds, micros, root] = PERMALINK.exec(url) ?? [];
  if (isPermalink !== undefined && names.canGoTo(channelId)) {
    // As in Slack, it leads to the message and not out of the page.
    const threadTs = root ?? `${seconds}.${micros}`;
    return h(
      "a",
      {
        href: `#${channelId}/${threadTs}`,
        on: {
          click: (event) => {
            event.preventDefault();
            names.goTo(channelId, threadTs);
          },
        },
      },
      label || url,
    );
  }
  return renderLink(url, label);
}

/** Renders a link if its address may be followed. */
export function renderLink(url: string, label: string | null | undefined): HTMLElement {
  const href = safeUrl(url);
  const text = label === null || label === undefined || label === "" ? url : label;
  if (href === null) return h("span", { class: "no-link" }, text);
  return h("a", { href, target: "_blank", rel: "noopener noreferrer", title: href }, text);
}

function renderUser(id: string, names: ShownNames, label: string | null): HTMLElement {
  const text = `@${names.nameOf(id) ?? label ?? id}`;
  return h("span", { class: id === names.me() ? "mention mention-me" : "mention" }, text);
}

function renderChannel(id: string, names: ShownNames, label: string | null): HTMLElement {
  const text = `#${names.nameOf(id) ?? label ?? id}`;
  if (!names.canGoTo(id)) return h("span", { class: "mention" }, text);
  return h(
    "button",
    {
      type: "button",
      class: "mention mention-link",
      data: { focus: `to-${id}` },
      on: { click: () => names.goTo(id) },
    },
    text,
  );
}

/** Renders a rich text block. */
export function renderRichText(block: RichTextBlock, names: ShownNames): HTMLElement[] {
  return block.elements.map((part) => renderRichPart(part, names));
}

function renderRichPart(part: RichTextBlock["elements"][number], names: ShownNames): HTMLElement {
  switch (part.type) {
    case "rich_text_section":
      return h("div", { class: "rich-section" }, ...renderElements(part.elements, names));
    case "rich_text_quote":
      return h("blockquote", null, ...renderElements(part.elements, names));
    case "rich_text_preformatted":
      return h("pre", null, ...renderElements(part.elements, names));
    case "rich_text_list": {
      const isOrdered = part.style === "ordered";
      return h(
        isOrdered ? "ol" : "ul",
        { class: `rich-list indent-${part.indent ?? 0}`, start: isOrdered ? (part.offset ?? 0) + 1 : null },
        ...part.elements.map((item) => h("li", null, ...renderElements(item.elements, names))),
      );
    }
    default:
      return renderUnsupported(part);
  }
}

function renderElements(elements: readonly RichTextElement[], names: ShownNames): Node[] {
  return elements.map((element) => styled(renderElement(element, names), element.style));
}

function renderElement(element: RichTextElement, names: ShownNames): Node {
  switch (element.type) {
    case "text":
      return document.createTextNode(element.text);
    case "link":
      return renderTextLink(element.url, element.text, names);
    case "user":
      return renderUser(element.user_id, names, null);
    case "usergroup":
      return h("span", { class: "mention" }, `@${element.usergroup_id}`);
    case "channel":
      return renderChannel(element.channel_id, names, null);
    case "broadcast":
      return h("span", { class: "mention mention-me" }, `@${element.range}`);
    case "emoji":
      return document.createTextNode(emojiElement(element));
    default:
      return renderUnsupported(element);
  }
}

/** The tags of styles, from the innermost to the outermost. */
const STYLE_TAGS = [
  ["code", "code"],
  ["bold", "strong"],
  ["italic", "em"],
  ["strike", "s"],
  ["underline", "u"],
] as const;

function styled(node: Node, style: RichTextElement["style"]): Node {
  return STYLE_TAGS.reduce<Node>(
    (inner, [name, tag]) => (style?.[name] === true ? h(tag, null, inner) : inner),
    node,
  );
}

/** Renders the name of something that the page can't draw. */
export function renderUnsupported({ type }: { type: string }): HTMLElement {
  return h("div", { class: "unsupported" }, `unsupported block: ${type}`);
}

/** Renders the text that describes an image. The page never loads remote images. */
export function renderImage({ alt_text: alt }: { alt_text: string }, isSmall: boolean): HTMLElement {
  return h(
    "span",
    { class: isSmall ? "image image-small" : "image", role: "img", "aria-label": alt, title: alt },
    isSmall ? "🖼" : `🖼 ${alt}`,
  );
}

/** Returns a mark for a control that leads away from the page. */
export function opensNewTab(): Element[] {
  return [icon("out"), unseen(" (opens in a new tab)")];
}
