import type { AnyBlock } from "./block-kit/blocks.ts";
import { richTextLines } from "./block-kit/rich-text.ts";
import { blockTexts } from "./block-kit/texts.ts";

const MARKUP = /<(@[UW][A-Z0-9]+|!channel|!here|!everyone|!subteam\^S[A-Z0-9]+)(?:\|[^>]*)?>/g;
const LINKED_NAMES = /(?<![\w&])@(channel|here|everyone)\b/g;

/**
 * Returns the people and groups that Slack would notify, in reading order: `@U…`, `!channel`,
 * `!here`, `!everyone`, `!subteam^S…`. If there are blocks, the text is only a fallback and
 * notifies nobody. `plain_text` never notifies anybody. `linksNames` is true if `link_names` or
 * `parse: "full"` ask for it.
 */
export function mentionsIn(
  message: { text: string; blocks?: readonly AnyBlock[] | undefined },
  linksNames = false,
): string[] {
  if (message.blocks !== undefined && message.blocks.length > 0) {
    return message.blocks.flatMap(mentionsInBlock);
  }
  const named = linksNames ? Array.from(message.text.matchAll(LINKED_NAMES), ([, name]) => `!${name}`) : [];
  return [...mentionsInMarkup(message.text), ...named];
}

function mentionsInBlock(block: AnyBlock): string[] {
  if (block.type !== "rich_text") {
    return blockTexts(block).flatMap(({ text, isMarkup }) => (isMarkup ? mentionsInMarkup(text) : []));
  }
  return richTextLines(block)
    .flat()
    .flatMap((element) => {
      if (element.type === "user") return [`@${element.user_id}`];
      if (element.type === "broadcast") return [`!${element.range}`];
      if (element.type === "usergroup") return [`!subteam^${element.usergroup_id}`];
      return [];
    });
}

function mentionsInMarkup(text: string): string[] {
  return Array.from(text.matchAll(MARKUP), ([, mention]) => mention ?? "");
}
