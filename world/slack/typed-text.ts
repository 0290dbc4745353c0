import { decodeEntities } from "../../src/app/messages/mrkdwn.ts";
import { escapeMrkdwn } from "../../src/app/messages/mrkdwn.ts";
import type { RichTextBlock } from "./block-kit/rich-text.ts";

const picked =
  /(<(?:@[UW][A-Z0-9]+|#[CG][A-Z0-9]+(?:\|[^<>]*)?|!(?:here|channel|everyone|subteam\^S[A-Z0-9]+))>)/;
const BARE_URL = /(https?:\/\/[^\s<>]*[^\s<>.,;:!?)\]'"])/;

/**
 * Returns what Slack stores for a message that a person typed. Entities are encoded, URLs become
 * `<url>`, and names that were picked from the menu (`<@U…>`, `<#C…>`, `<!here>`) stay.
 */
export function encodeTyped(typed: string | readonly TypedPart[]): string {
  return (typeof typed === "string" ? partsOf(typed) : typed)
    .map((part) => (typeof part === "string" ? linkUrls(part) : part.pick))
    .join("");
}

/**
 * A part of what was typed: text without names, or a name that was picked from the menu, as Slack
 * writes it.
 */
export type TypedPart = string | { pick: string };

function partsOf(typed: string): TypedPart[] {
  return typed.split(picked).map((part, index) => (index % 2 === 1 ? { pick: part } : part));
}

function linkUrls(text: string): string {
  return text
    .split(BARE_URL)
    .map((part, index) => (index % 2 === 1 ? `<${escapeMrkdwn(part)}>` : escapeMrkdwn(part)))
    .join("");
}

const TOKEN = /(<[^<>]+>)/;

/** Makes the rich text block that Slack's composer sends beside a message's text. */
export function richTextOf(text: string): RichTextBlock {
  const elements = text
    .split(TOKEN)
    .filter((part) => part !== "")
    .map(elementOf);
  return { type: "rich_text", block_id: "typed", elements: [{ type: "rich_text_section", elements }] };
}

type Element = Extract<RichTextBlock["elements"][number], { type: "rich_text_section" }>["elements"][number];

function elementOf(part: string): Element {
  if (!TOKEN.test(part)) return { type: "text", text: decodeEntities(part) };
  const [target = "", label] = part.slice(1, -1).split("|");
  if (target.startsWith("@")) return { type: "user", user_id: target.slice(1) };
  if (target.startsWith("#")) return { type: "channel", channel_id: target.slice(1) };
  if (target === "!here") return { type: "broadcast", range: "here" };
  if (target === "!channel") return { type: "broadcast", range: "channel" };
  if (target === "!everyone") return { type: "broadcast", range: "everyone" };
  if (target.startsWith("!subteam^")) {
    return { type: "usergroup", usergroup_id: target.slice("!subteam^".length) };
  }
  const url = decodeEntities(target);
  return label === undefined ? { type: "link", url } : { type: "link", url, text: decodeEntities(label) };
}
