import { decodeEntities } from "../../src/app/messages/mrkdwn.ts";
import type { AnyBlock } from "./block-kit/blocks.ts";
import type { Button, Overflow, StaticSelect, TextObject } from "./block-kit/objects.ts";
import { type RichTextBlock, type RichTextElement, richTextLines } from "./block-kit/rich-text.ts";

/** Returns the name of a user or a channel, if it is known. */
type NameOf = (id: string) => string | undefined;

/**
 * Returns what a person reads in a message, with a line for each block. Entities are decoded.
 * Buttons become `[label]`, checkboxes `☑ text description`, links `label (url)`, people `@name`,
 * and channels `#name`. A task's status is a symbol. Formatting marks such as `*` stay.
 */
export function visibleText(
  message: { text: string; blocks?: readonly AnyBlock[] | undefined },
  nameOf: NameOf = () => undefined,
): string {
  if (message.blocks === undefined || message.blocks.length === 0) return readMrkdwn(message.text, nameOf);
  return message.blocks
    .filter(({ type }) => type !== "context_actions")
    .map((block) => readBlock(block, nameOf))
    .join("\n");
}

function readBlock(block: AnyBlock, nameOf: NameOf): string {
  switch (block.type) {
    case "section": {
      const texts = [block.text, ...(block.fields ?? [])].filter((text) => text !== undefined);
      const accessory = block.accessory === undefined ? [] : [readElement(block.accessory, nameOf)];
      return [...texts.map((text) => readText(text, nameOf)), ...accessory].join("\n");
    }
    case "header":
      return block.text.text;
    case "context":
    case "actions":
      return block.elements.map((element) => readElement(element, nameOf)).join(" ");
    // These are icons. Their names are shown only when somebody points at them.
    case "context_actions":
      return "";
    case "markdown":
      return readMrkdwn(block.text, nameOf);
    case "rich_text":
      return readRichText(block, nameOf);
    case "image":
      return `[${block.alt_text}]`;
    case "task_card":
      return readTask(block, nameOf);
    case "plan":
      return [block.title, ...(block.tasks ?? []).map((task) => readTask(task, nameOf))].join("\n");
    case "divider":
      return "---";
    case "input":
      return [block.label.text, ...readBoxes(block.element, nameOf)].join("\n");
  }
}

function readBoxes(element: Extract<AnyBlock, { type: "input" }>["element"], nameOf: NameOf): string[] {
  if (element.type !== "checkboxes") return [];
  const ticked = new Set(element.initial_options?.map(({ value }) => value));
  return element.options.map(({ text, description, value }) =>
    [
      ticked.has(value) ? "☑" : "☐",
      ...[text, description].flatMap((part) => (part ? [readText(part, nameOf)] : [])),
    ].join(" "),
  );
}

/** Slack shows the status as a picture. */
const STATUS = { pending: "⏳", in_progress: "🔧", complete: "✅", error: "❌" } as const;

function readTask(
  { title, status, details, output, sources = [] }: Extract<AnyBlock, { type: "task_card" }>,
  nameOf: NameOf,
): string {
  return [
    `${STATUS[status ?? "pending"]} ${title}`,
    ...[details, output].flatMap((part) => (part === undefined ? [] : [readRichText(part, nameOf)])),
    ...sources.map(({ url, text }) => readLink(url, text)),
  ].join("\n");
}

type Element = TextObject | Button | StaticSelect | Overflow | { type: "image"; alt_text: string };

function readElement(element: Element, nameOf: NameOf): string {
  switch (element.type) {
    case "button":
      return `[${element.text.text}]`;
    case "static_select":
      return `[${(element.initial_option?.text ?? element.placeholder)?.text ?? ""}]`;
    case "overflow":
      return "[⋯]";
    case "image":
      return `[${element.alt_text}]`;
    case "plain_text":
    case "mrkdwn":
      return readText(element, nameOf);
  }
}

function readText(text: TextObject, nameOf: NameOf): string {
  return text.type === "mrkdwn" ? readMrkdwn(text.text, nameOf) : text.text;
}

function readRichText(block: RichTextBlock, nameOf: NameOf): string {
  return richTextLines(block)
    .map((line) => line.map((element) => readRichElement(element, nameOf)).join(""))
    .join("\n");
}

function readRichElement(element: RichTextElement, nameOf: NameOf): string {
  switch (element.type) {
    case "text":
      return element.text;
    case "link":
      return readLink(element.url, element.text);
    case "user":
      return `@${nameOf(element.user_id) ?? element.user_id}`;
    case "usergroup":
      return `@${element.usergroup_id}`;
    case "channel":
      return `#${nameOf(element.channel_id) ?? element.channel_id}`;
    case "broadcast":
      return `@${element.range}`;
    case "emoji":
      return `:${element.name}:`;
  }
}

function readMrkdwn(text: string, nameOf: NameOf): string {
  return text
    .split(/(<[^<>]+>)/)
    .map((part, index) => (index % 2 === 1 ? readToken(part.slice(1, -1), nameOf) : decodeEntities(part)))
    .join("");
}

function readToken(token: string, nameOf: NameOf): string {
  const [target = "", label] = token.split("|");
  if (target.startsWith("@")) return `@${nameOf(target.slice(1)) ?? label ?? target.slice(1)}`;
  if (target.startsWith("#")) return `#${nameOf(target.slice(1)) ?? label ?? target.slice(1)}`;
  if (target.startsWith("!")) return label ?? `@${target.slice(1)}`;
  return readLink(decodeEntities(target), label === undefined ? undefined : decodeEntities(label));
}

function readLink(url: string, label: string | undefined): string {
  return label === undefined || label === "" || label === url ? url : `${label} (${url})`;
}
