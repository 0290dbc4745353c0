import type { Segment } from "../core/turn/request.ts";
import { decodeEntities, escapeMrkdwn } from "../replies/mrkdwn.ts";
import { z } from "zod";

const CONTROL = /<([^<>]+)>/g;

/**
 * The scheme of a link's target. Slack adds `http://` and `mailto:` where people leave them out.
 */
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;

/**
 * Takes a message's mrkdwn apart: people, channels, groups, links, and the text between them, with
 * entities decoded. Angle brackets in Slack's text are always its own, because those that people
 * type arrive as entities. Unknown contents of brackets stay text.
 */
export function parseMessageText(text: string): Segment[] {
  const segments: Segment[] = [];
  let end = 0;
  for (const match of text.matchAll(CONTROL)) {
    pushText(segments, text.slice(end, match.index));
    segments.push(parseControl(match[1] ?? "") ?? { kind: "text", text: decodeEntities(match[0]) });
    end = match.index + match[0].length;
  }
  pushText(segments, text.slice(end));
  return segments;
}

function pushText(segments: Segment[], text: string): void {
  if (text !== "") segments.push({ kind: "text", text: decodeEntities(text) });
}

function parseControl(inner: string): Segment | null {
  const bar = inner.indexOf("|");
  const target = decodeEntities(bar === -1 ? inner : inner.slice(0, bar));
  const given = bar === -1 ? "" : decodeEntities(inner.slice(bar + 1));
  const label = given === "" ? null : given;
  if (/^@[UW][A-Z0-9]+$/.test(target)) {
    return { kind: "person", id: target.slice(1), label: label?.replace(/^@/, "") ?? null };
  }
  if (/^#[CGD][A-Z0-9]+$/.test(target)) {
    return { kind: "channel", id: target.slice(1), label: label?.replace(/^#/, "") ?? null };
  }
  if (target.startsWith("!")) {
    // <!here>, <!subteam^S012|@writers>, <!date^…|yesterday>
    const [name = "", id] = target.slice(1).split("^");
    if (name === "date") return label === null ? null : { kind: "text", text: label };
    const shown = (label ?? id ?? name).replace(/^@/, "");
    return shown === "" ? null : { kind: "group", label: shown };
  }
  return SCHEME.test(target) ? { kind: "link", url: target, label } : null;
}

const Text = z.object({ text: z.string() });

/** The fields of a block that hold words: https://docs.slack.dev/reference/block-kit/blocks */
const Block = z.object({
  type: z.string(),
  text: z.union([z.string(), Text.transform(({ text }) => text)]).nullish(),
  fields: z.array(Text).nullish(),
  elements: z.array(z.unknown()).nullish(),
});

/**
 * A piece of rich text: text, a link, a person, a channel or an emoji, or a list, quote or section
 * of these.
 */
const Piece = z.object({
  type: z.string(),
  text: z.string().nullish(),
  url: z.string().nullish(),
  user_id: z.string().nullish(),
  channel_id: z.string().nullish(),
  name: z.string().nullish(),
  elements: z.array(z.unknown()).nullish(),
});

/**
 * The words of a message's blocks, written like a Slack message's text, one line per block. Some
 * messages by apps have no other words.
 */
export function wordsOfBlocks(blocks: readonly unknown[]): string {
  const lines = blocks.flatMap((block) => linesOf(block));
  return lines.filter((line) => line.trim() !== "").join("\n");
}

function linesOf(value: unknown): string[] {
  const { data: block } = Block.safeParse(value);
  switch (block?.type) {
    case "header":
    case "markdown":
      return [block.text ?? ""];
    case "section":
      return [block.text ?? "", ...(block.fields ?? []).map(({ text }) => text)];
    case "context":
      return [(block.elements ?? []).map((element) => Text.safeParse(element).data?.text ?? "").join(" ")];
    case "rich_text":
      return (block.elements ?? []).map(richText);
    default:
      return [];
  }
}

function richText(value: unknown): string {
  const { data: piece } = Piece.safeParse(value);
  switch (piece?.type) {
    case "text":
      return escapeMrkdwn(piece.text ?? "");
    case "link":
      return `<${escapeMrkdwn(piece.url ?? "")}|${escapeMrkdwn(piece.text ?? "")}>`;
    case "user":
      return `<@${piece.user_id}>`;
    case "channel":
      return `<#${piece.channel_id}>`;
    case "emoji":
      return `:${piece.name}:`;
    case "rich_text_list":
      return (piece.elements ?? []).map((item) => `• ${richText(item)}`).join("\n");
    default:
      return (piece?.elements ?? []).map(richText).join("");
  }
}
