import { z } from "zod";
import { escapeMrkdwn } from "../replies/mrkdwn.ts";

const Text = z.object({ text: z.string() });

/** What of a block holds words: https://docs.slack.dev/reference/block-kit/blocks */
const Block = z.object({
  type: z.string(),
  text: z.union([z.string(), Text.transform(({ text }) => text)]).nullish(),
  fields: z.array(Text).nullish(),
  elements: z.array(z.unknown()).nullish(),
});

/** A piece of rich text: text, a link, a person, a channel, an emoji; or a list, a quote or a section of these. */
const Piece = z.object({
  type: z.string(),
  text: z.string().nullish(),
  url: z.string().nullish(),
  user_id: z.string().nullish(),
  channel_id: z.string().nullish(),
  name: z.string().nullish(),
  elements: z.array(z.unknown()).nullish(),
});

/** The words of a message's blocks, as Slack writes a message's text: a line for each block. Apps post messages that have no other words. */
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
