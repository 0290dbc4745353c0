import { readableText } from "../../rules/words/readable-text.ts";
import { parseMessageText } from "./message-text.ts";
import { jsonFields } from "../../../shared/text/json-fields.ts";
import { readBlocks } from "./parts.ts";
import { roomOfMessage, ShownWords } from "./shown-words.ts";

/** What Slack writes if something has words only in its blocks. */
const NO_WORDS: ReadonlySet<string> = new Set(["This content can't be displayed.", "[no preview available]"]);

/** A text as an app gave it, or an empty one if it only says that there is none. */
export function givenText(text: string): string {
  return NO_WORDS.has(text) ? "" : text;
}

/**
 * Adds what Slack shows of a text and its blocks, once. Slack shows the blocks; the text is for
 * notifications, and counts only if it says all that they say.
 */
export function readTextOrBlocks(words: ShownWords, text: string, blocks: readonly unknown[]): void {
  const given = givenText(text);
  const inside = new ShownWords({ ...words.room });
  readBlocks(inside, blocks);
  const said = lettersOf(inside);
  words.room.parts = inside.room.parts;
  if (given !== "" && lettersOfText(given).includes(said)) {
    for (const { what, count } of inside.leftOut()) if (what !== "character") words.leave(what, count);
    return words.mrkdwn(given);
  }
  words.room.chars = inside.room.chars;
  words.addAll(inside);
}

/**
 * Adds what a person's message shows besides its text, such as a table. One block of rich text is
 * what they typed.
 */
export function readBesideText(words: ShownWords, text: string, blocks: readonly unknown[]): void {
  if (text === "") return readBlocks(words, blocks);
  const rich = blocks.findIndex((block) => jsonFields(block)["type"] === "rich_text");
  const alone = new ShownWords(roomOfMessage());
  if (rich >= 0) readBlocks(alone, [blocks[rich]]);
  const isTyped = rich >= 0 && isAboutAsLong(lettersOf(alone), lettersOfText(text));
  readMoreThan(words, text, isTyped ? blocks.toSpliced(rich, 1) : blocks);
}

/** The two are written differently, so that they are never quite the same. */
function isAboutAsLong(letters: string, others: string): boolean {
  return letters.length <= 1.2 * others.length + 20;
}

/** Adds what blocks show, unless a text says all of it. */
function readMoreThan(words: ShownWords, text: string, blocks: readonly unknown[]): void {
  const shown = new ShownWords(roomOfMessage());
  readTextOrBlocks(shown, text, blocks);
  if (lettersOf(shown) !== lettersOfText(text)) return readBlocks(words, blocks);
  for (const { what, count } of shown.leftOut()) words.leave(what, count);
}

function lettersOf({ segments }: ShownWords): string {
  return letters(readableText(segments));
}

function lettersOfText(text: string): string {
  return letters(readableText(parseMessageText(text)));
}

/** What is left of a text whatever its markup and spacing. */
function letters(text: string): string {
  return text.toLowerCase().replaceAll(/[^\p{L}\p{N}\p{S}]+/gu, "");
}
