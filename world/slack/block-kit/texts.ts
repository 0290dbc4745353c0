import type { AnyBlock } from "./blocks.ts";
import type { Checkboxes, TextObject } from "./objects.ts";
import { richTextLines } from "./rich-text.ts";

/** A piece of text in a block. `isMarkup` is true if Slack reads markup in it. */
type BlockText = { text: string; isMarkup: boolean };

/** Returns every text in a block in reading order, including buttons and labels. */
export function blockTexts(block: AnyBlock): BlockText[] {
  switch (block.type) {
    case "section": {
      const own = [block.text, ...(block.fields ?? [])].flatMap((text) => (text ? [textOf(text)] : []));
      const accessory = block.accessory;
      if (accessory?.type === "button") own.push(textOf(accessory.text));
      return own;
    }
    case "header":
      return [textOf(block.text)];
    case "context":
      return block.elements.flatMap((element) => (element.type === "image" ? [] : [textOf(element)]));
    case "actions":
      return block.elements.flatMap((element) => (element.type === "button" ? [textOf(element.text)] : []));
    case "context_actions":
      return block.elements.flatMap((element) => [
        textOf(element.positive_button.text),
        textOf(element.negative_button.text),
      ]);
    case "markdown":
      return [{ text: block.text, isMarkup: true }];
    case "rich_text":
      return richTextLines(block)
        .flat()
        .flatMap((element) => {
          if (element.type === "text") return [{ text: element.text, isMarkup: false }];
          if (element.type === "link") return [{ text: element.text ?? element.url, isMarkup: false }];
          return [];
        });
    case "task_card":
      return [
        { text: block.title, isMarkup: false },
        ...[block.details, block.output].flatMap((part) => (part === undefined ? [] : blockTexts(part))),
        ...(block.sources ?? []).map(({ text }) => ({ text, isMarkup: false })),
      ];
    case "plan":
      return [{ text: block.title, isMarkup: false }, ...(block.tasks ?? []).flatMap(blockTexts)];
    case "input":
      return [
        textOf(block.label),
        ...(block.element.type === "checkboxes" ? block.element.options.flatMap(optionTexts) : []),
      ];
    case "divider":
    case "image":
      return [];
  }
}

function optionTexts({ text, description }: Checkboxes["options"][number]): BlockText[] {
  return [textOf(text), ...(description === undefined ? [] : [textOf(description)])];
}

function textOf(object: TextObject): BlockText {
  return { text: object.text, isMarkup: object.type === "mrkdwn" };
}
