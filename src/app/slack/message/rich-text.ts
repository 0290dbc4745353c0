import type { Segment } from "../../rules/turn/request.ts";
import { utcTime } from "../../../shared/text/text.ts";
import { jsonFields, jsonList, jsonText, type JsonFields } from "../../../shared/text/json-fields.ts";
import { MAX_DEPTH, ShownWords } from "./shown-words.ts";

/** The deepest a list is indented. Slack allows eight levels. */
const MAX_INDENT = 8;

/** Adds a `rich_text` block, or a part of one. */
export function readRichText(words: ShownWords, value: unknown, depth: number): void {
  const part = jsonFields(value);
  if (depth > MAX_DEPTH || words.room.parts <= 0) return words.leave("nested part");
  words.room.parts -= 1;
  const elements = jsonList(part["elements"]);
  switch (part["type"]) {
    case "rich_text":
      for (const element of elements) {
        words.lineEnd();
        readRichText(words, element, depth + 1);
      }
      return;
    case "rich_text_list":
      return readList(words, part, elements, depth);
    case "rich_text_quote":
      return readInside(words, elements, depth, (inside) => {
        words.text("> ");
        for (const segment of inside) words.add(withLineStarts(segment, "> "));
      });
    case "rich_text_preformatted":
      return readInside(words, elements, depth, (inside) => {
        words.text("```\n");
        for (const segment of inside) words.add(segment);
        words.text("\n```");
      });
    default: {
      const segment = segmentOf(part);
      if (segment !== null) return words.add(segment);
      if (elements.length === 0 && !WITHOUT_WORDS.has(jsonText(part["type"]))) return words.leave("part");
      for (const element of elements) readRichText(words, element, depth + 1);
    }
  }
}

/** Parts that may be empty. */
const WITHOUT_WORDS: ReadonlySet<string> = new Set(["text", "rich_text_section"]);

function readList(words: ShownWords, list: JsonFields, items: readonly unknown[], depth: number): void {
  const indent = "  ".repeat(Math.min(MAX_INDENT, Math.max(0, numberOf(list["indent"]))));
  const offset = numberOf(list["offset"]);
  items.forEach((item, n) => {
    words.lineEnd();
    words.text(`${indent}${list["style"] === "ordered" ? `${offset + n + 1}.` : "•"} `);
    readRichText(words, item, depth + 1);
  });
}

/** Reads elements on their own, so that `around` can add to each of their lines. */
function readInside(
  words: ShownWords,
  elements: readonly unknown[],
  depth: number,
  around: (inside: readonly Segment[]) => void,
): void {
  const inside = new ShownWords({ ...words.room });
  for (const element of elements) readRichText(inside, element, depth + 1);
  words.room.parts = inside.room.parts;
  for (const { what, count } of inside.leftOut()) words.leave(what, count);
  if (!inside.isEmpty) around(inside.segments);
}

function withLineStarts(segment: Segment, start: string): Segment {
  return segment.kind === "text"
    ? { kind: "text", text: segment.text.replaceAll("\n", `\n${start}`) }
    : segment;
}

/** A single element of rich text, or null if it is none or has nothing to say. */
function segmentOf(element: JsonFields): Segment | null {
  const id = (name: string) => jsonText(element[name]);
  switch (element["type"]) {
    case "text":
      return textSegment(styled(id("text"), jsonFields(element["style"])));
    case "link":
      return id("url") === "" ? textSegment(id("text")) : linkTo(id("url"), id("text"));
    case "user":
      return id("user_id") === "" ? null : { kind: "person", id: id("user_id"), label: null };
    case "channel":
      return id("channel_id") === "" ? null : { kind: "channel", id: id("channel_id"), label: null };
    case "usergroup":
      return { kind: "group", id: id("usergroup_id"), label: "" };
    case "broadcast":
      return id("range") === "" ? null : { kind: "group", label: id("range") };
    case "team":
      return textSegment(id("team_id") && `@${id("team_id")}`);
    case "emoji":
      return textSegment(id("name") && `:${id("name")}:`);
    case "color":
      return textSegment(id("value"));
    case "date":
      return dateSegment(id("fallback") || utcTime(numberOf(element["timestamp"]) * 1000), id("url"));
    default:
      return textSegment(id("text") || id("fallback") || id("name") || id("alt_text") || id("title"));
  }
}

function dateSegment(shown: string, url: string): Segment {
  return url === "" ? { kind: "text", text: shown } : linkTo(url, shown);
}

function textSegment(text: string): Segment | null {
  return text === "" ? null : { kind: "text", text };
}

/** A link by its label, if it has one. */
export function linkTo(url: string, label: string): Segment {
  return { kind: "link", url, label: label === "" ? null : label };
}

/** Only the styles that change what a text says. */
function styled(text: string, style: JsonFields): string {
  if (text.trim() === "") return text;
  if (style["code"] === true) return `\`${text}\``;
  return style["strike"] === true ? `~${text}~` : text;
}

function numberOf(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
