import { h, icon, unseen } from "./dom.js";
import { emojiElement, withEmoji } from "./emoji.js";
import { parseMrkdwn } from "./mrkdwn.js";

/**
 * What rendering needs to know of the workspace.
 *
 * @typedef {{ me: string, nameOf: (id: string) => string | undefined, goTo: (channelId: string) => void,
 *   canGoTo: (channelId: string) => boolean }} Names
 */

/** @param {string} text @param {Names} names @param {{ verbatim?: boolean }} [options] */
export function renderMrkdwn(text, names, options) {
  return parseMrkdwn(text, options).map((node) => renderNode(node, names, true));
}

/** `plain_text`: nothing in it is markup; short names of emoji are read unless it says not to. */
export function renderPlainText({ text, emoji }) {
  return emoji === false ? text : withEmoji(text);
}

/** A text object, as the nodes it is. */
export function renderText(object, context) {
  return object.type === "mrkdwn"
    ? renderMrkdwn(object.text, context, { verbatim: object.verbatim === true })
    : [renderPlainText(object)];
}

const tags = { bold: "strong", italic: "em", strike: "s", quote: "blockquote", code: "code", pre: "pre" };

function renderNode(node, names, readsEmoji) {
  switch (node.type) {
    case "text":
      return document.createTextNode(readsEmoji ? withEmoji(node.text) : node.text);
    case "link":
      return renderLink(node.url, node.label);
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
      return h(tags[node.type], null, ...children);
    }
  }
}

/** The address, if it is one that may be followed; anything else (`javascript:` …) is shown as text. */
export function safeUrl(url) {
  if (!URL.canParse(url)) return null;
  return ["http:", "https:", "mailto:"].includes(new URL(url).protocol) ? url : null;
}

function renderLink(url, label) {
  const href = safeUrl(url);
  const text = label === null || label === undefined || label === "" ? url : label;
  if (href === null) return h("span", { class: "no-link" }, text);
  return h("a", { href, target: "_blank", rel: "noopener noreferrer", title: href }, text);
}

function renderUser(id, names, label) {
  const text = `@${names.nameOf(id) ?? label ?? id}`;
  return h("span", { class: id === names.me ? "mention mention-me" : "mention" }, text);
}

function renderChannel(id, names, label) {
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

/** @param {{ elements: any[] }} block @param {Names} names */
export function renderRichText(block, names) {
  return block.elements.map((part) => renderRichPart(part, names));
}

function renderRichPart(part, names) {
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
      return renderUnsupported(part.type);
  }
}

function renderElements(elements, names) {
  return elements.map((element) => styled(renderElement(element, names), element.style));
}

function renderElement(element, names) {
  switch (element.type) {
    case "text":
      return document.createTextNode(element.text);
    case "link":
      return renderLink(element.url, element.text);
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
      return renderUnsupported(element.type);
  }
}

const styleTags = { code: "code", bold: "strong", italic: "em", strike: "s", underline: "u" };

function styled(node, style) {
  return Object.entries(styleTags).reduce(
    (inner, [name, tag]) => (style?.[name] === true ? h(tag, null, inner) : inner),
    node,
  );
}

/** What the page cannot draw is named, not dropped. */
export function renderUnsupported(type) {
  return h("div", { class: "unsupported" }, `unsupported block: ${type}`);
}

/** Remote images are never loaded: a box with the text that describes the image. */
export function renderImage({ alt_text: alt }, isSmall) {
  return h(
    "span",
    { class: isSmall ? "image image-small" : "image", role: "img", "aria-label": alt, title: alt },
    isSmall ? "🖼" : `🖼 ${alt}`,
  );
}

/** Marks a control that leads away from the page. */
export function opensNewTab() {
  return [icon("out"), unseen(" (opens in a new tab)")];
}
