import * as z from "zod";

const Style = z
  .strictObject({
    bold: z.boolean().optional(),
    italic: z.boolean().optional(),
    strike: z.boolean().optional(),
    underline: z.boolean().optional(),
    code: z.boolean().optional(),
  })
  .optional();

const Text = z.strictObject({ type: z.literal("text"), text: z.string().min(1), style: Style });
const Link = z.strictObject({
  type: z.literal("link"),
  url: z.string().min(1),
  text: z.string().optional(),
  unsafe: z.boolean().optional(),
  style: Style,
});

/**
 * An element in a line of rich text. See
 * https://docs.slack.dev/reference/block-kit/blocks/rich-text-block
 */
export type RichTextElement = z.infer<typeof RichTextElement>;
const RichTextElement = z.discriminatedUnion("type", [
  Text,
  Link,
  z.strictObject({ type: z.literal("user"), user_id: z.string().min(1), style: Style }),
  z.strictObject({ type: z.literal("usergroup"), usergroup_id: z.string().min(1), style: Style }),
  z.strictObject({ type: z.literal("channel"), channel_id: z.string().min(1), style: Style }),
  z.strictObject({
    type: z.literal("broadcast"),
    range: z.enum(["here", "channel", "everyone"]),
    style: Style,
  }),
  z.strictObject({
    type: z.literal("emoji"),
    name: z.string().min(1),
    unicode: z.string().optional(),
    style: Style,
  }),
]);

const Section = z.strictObject({ type: z.literal("rich_text_section"), elements: z.array(RichTextElement) });

const border = z.union([z.literal(0), z.literal(1)]).optional();

const RichTextPart = z.discriminatedUnion("type", [
  Section,
  z.strictObject({ type: z.literal("rich_text_quote"), elements: z.array(RichTextElement), border }),
  z.strictObject({
    type: z.literal("rich_text_preformatted"),
    elements: z.array(z.discriminatedUnion("type", [Text, Link])),
    border,
  }),
  z.strictObject({
    type: z.literal("rich_text_list"),
    style: z.enum(["bullet", "ordered"]),
    elements: z.array(Section).min(1),
    indent: z.int().min(0).max(8).optional(),
    offset: z.int().min(0).optional(),
    border,
  }),
]);

export type RichTextBlock = z.infer<typeof RichTextBlock>;
export const RichTextBlock = z.strictObject({
  type: z.literal("rich_text"),
  block_id: z.string().min(1).max(255).optional(),
  elements: z.array(RichTextPart).min(1),
});

/** Returns every element of a rich text block in reading order, with an entry for each line. */
export function richTextLines(block: RichTextBlock): RichTextElement[][] {
  return block.elements.flatMap((part) =>
    part.type === "rich_text_list" ? part.elements.map((item) => item.elements) : [part.elements],
  );
}
