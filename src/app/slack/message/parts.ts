import {
  jsonFields,
  isJsonFields,
  jsonList,
  jsonText,
  type JsonFields,
} from "../../../shared/text/json-fields.ts";
import { linkTo, readRichText } from "./rich-text.ts";
import { MAX_DEPTH, type ShownWords } from "./shown-words.ts";
import { readTable } from "./table.ts";

/** How the words of a part with a known type are read. */
type Shape = {
  /** The fields with words, in the order in which Slack shows them. */
  fields: readonly string[];
  /** True if all of them stand on one line. */
  isLine?: true;
  /** What the part shows besides its words. */
  leftOut?: string;
};

const CHOICE = ["placeholder", "initial_option", "initial_options", "options", "option_groups", "confirm"];

/** The buttons and menus of attachments, which are older than those of blocks. */
export const ATTACHMENT_ACTION = "attachment_action";

/**
 * All blocks, and the elements in them: https://docs.slack.dev/reference/block-kit/blocks. Rich
 * text and tables have readers of their own.
 */
const SHAPES: ReadonlyMap<string, Shape> = new Map<string, Shape>([
  ["actions", { fields: ["elements"], isLine: true }],
  ["alert", { fields: ["text"] }],
  ["call", { fields: ["call"], leftOut: "call" }],
  ["card", { fields: ["icon", "hero_image", "title", "subtitle", "body", "actions"] }],
  ["carousel", { fields: ["elements"] }],
  ["container", { fields: ["icon", "title", "rich_text_title", "subtitle", "child_blocks"] }],
  ["context", { fields: ["elements"], isLine: true }],
  ["context_actions", { fields: ["elements"], isLine: true }],
  ["divider", { fields: [] }],
  ["file", { fields: ["file"], leftOut: "remote file" }],
  ["header", { fields: ["text"] }],
  ["image", { fields: ["title", "alt_text"], leftOut: "image" }],
  ["input", { fields: ["label", "element", "hint"] }],
  ["markdown", { fields: ["text"] }],
  ["plan", { fields: ["title", "tasks"] }],
  ["section", { fields: ["text", "fields", "accessory"] }],
  ["task_card", { fields: ["title", "status", "details", "output", "sources"] }],
  [
    "video",
    { fields: ["title", "description", "alt_text", "author_name", "provider_name"], leftOut: "video" },
  ],
  ["button", { fields: ["text", "accessibility_label", "confirm"], isLine: true }],
  ["workflow_button", { fields: ["text", "accessibility_label", "confirm"], isLine: true }],
  ["icon_button", { fields: ["text", "accessibility_label", "confirm"], isLine: true }],
  ["feedback_buttons", { fields: ["positive_button", "negative_button"], isLine: true }],
  ["checkboxes", { fields: ["initial_options", "options", "confirm"] }],
  ["radio_buttons", { fields: ["initial_option", "options", "confirm"] }],
  [ATTACHMENT_ACTION, { fields: ["text", "selected_options", "options", "option_groups", "confirm"] }],
  ["overflow", { fields: ["options", "confirm"] }],
  ["static_select", { fields: CHOICE }],
  ["multi_static_select", { fields: CHOICE }],
  ["external_select", { fields: CHOICE }],
  ["multi_external_select", { fields: CHOICE }],
  ["users_select", { fields: [...CHOICE, "initial_user"] }],
  ["multi_users_select", { fields: [...CHOICE, "initial_users"] }],
  ["conversations_select", { fields: [...CHOICE, "initial_conversation"] }],
  ["multi_conversations_select", { fields: [...CHOICE, "initial_conversations"] }],
  ["channels_select", { fields: [...CHOICE, "initial_channel"] }],
  ["multi_channels_select", { fields: [...CHOICE, "initial_channels"] }],
  ["datepicker", { fields: ["placeholder", "initial_date", "confirm"], isLine: true }],
  ["datetimepicker", { fields: ["initial_date_time", "confirm"], isLine: true }],
  ["timepicker", { fields: ["placeholder", "initial_time", "timezone", "confirm"], isLine: true }],
  ["email_text_input", { fields: ["placeholder", "initial_value"] }],
  ["url_text_input", { fields: ["placeholder", "initial_value"] }],
  ["plain_text_input", { fields: ["placeholder", "initial_value"] }],
  ["rich_text_input", { fields: ["placeholder", "initial_value"] }],
  ["number_input", { fields: ["placeholder", "initial_value"] }],
  ["file_input", { fields: [], leftOut: "file upload" }],
]);

/** Parts without a type: options, groups of options, dialogs, buttons for feedback, and calls. */
const UNTYPED: Shape = {
  fields: (
    "title label text accessibility_label description options confirm deny ok_text dismiss_text " + "v1 name"
  ).split(" "),
  isLine: true,
};

/** What can be read of a part that nobody knows yet. */
const UNKNOWN: readonly string[] = ["title", "text", "alt_text", "fallback"];

/** Adds the words of blocks, each on lines of its own. */
export function readBlocks(words: ShownWords, blocks: readonly unknown[]): void {
  for (const block of blocks) {
    words.lineEnd();
    readPart(words, block, 0);
  }
}

/** Adds the words of a block, an element, a text or a list of these. */
function readPart(words: ShownWords, value: unknown, depth: number): void {
  if (typeof value === "string") return words.mrkdwn(value);
  if (typeof value === "number") return words.text(String(value));
  if (typeof value !== "object" || value === null) return;
  if (depth > MAX_DEPTH || words.room.parts <= 0) return words.leave("nested part");
  if (Array.isArray(value)) return readAll(words, value, depth, false);
  if (!isJsonFields(value)) return;
  words.room.parts -= 1;
  const type = jsonText(value["type"]);
  switch (type) {
    case "plain_text":
    case "raw_text":
    case "raw_number":
      return words.plain(plainTextOf(value));
    case "mrkdwn":
      return words.mrkdwn(jsonText(value["text"]));
    case "rich_text":
      return readRichText(words, value, depth);
    case "table":
    case "data_table":
      readPart(words, value["caption"], depth + 1);
      return readTable(words, jsonList(value["rows"]), depth + 1, readPart);
    case "url":
      return words.add(linkTo(jsonText(value["url"]), jsonText(value["text"])));
    case "":
      return readFields(words, value, UNTYPED, depth);
  }
  const shape = SHAPES.get(type);
  if (shape === undefined) return readUnknown(words, value, depth);
  words.leave(shape.leftOut ?? "", shape.leftOut === undefined ? 0 : 1);
  readFields(words, value, shape, depth);
}

/** The text of something without markup. A number may have only its value. */
function plainTextOf({ text, value }: JsonFields): string {
  return jsonText(text) || (typeof value === "number" ? String(value) : "");
}

function readFields(words: ShownWords, part: JsonFields, { fields, isLine }: Shape, depth: number): void {
  const seen = new Set<string>();
  for (const name of fields) {
    const value = part[name];
    if (value === undefined || value === null) continue;
    // A label for screen readers mostly repeats the text.
    const said = jsonText(value) || jsonText(jsonFields(value)["text"]);
    if (said !== "" && seen.has(said)) continue;
    seen.add(said);
    if (isLine === true) words.space();
    else words.lineEnd();
    if (name === "title" || name === "text") readLinked(words, part, value, depth);
    else if (PEOPLE.has(name)) readIds(words, name, value);
    else if (Array.isArray(value)) readAll(words, value, depth, isLine === true);
    else readPart(words, value, depth + 1);
  }
}

/** A title or a button, which may lead somewhere. */
function readLinked(words: ShownWords, part: JsonFields, value: unknown, depth: number): void {
  const url = jsonText(part["title_url"]) || jsonText(part["url"]);
  const label = jsonText(value) || jsonText(jsonFields(value)["text"]);
  if (url === "" || label === "" || depth > MAX_DEPTH) return readPart(words, value, depth + 1);
  words.add(linkTo(url, label));
}

/** Fields that name people or conversations by their ids. */
const PEOPLE: ReadonlySet<string> = new Set([
  "initial_user",
  "initial_users",
  "initial_conversation",
  "initial_conversations",
  "initial_channel",
  "initial_channels",
]);

function readIds(words: ShownWords, name: string, value: unknown): void {
  const kind = name.startsWith("initial_user") ? "person" : "channel";
  for (const each of Array.isArray(value) ? value : [value]) {
    const id = jsonText(each);
    words.space();
    if (id !== "") words.add({ kind, id, label: null });
  }
}

function readAll(words: ShownWords, values: readonly unknown[], depth: number, isLine: boolean): void {
  for (const value of values) {
    if (isLine) words.space();
    else words.lineEnd();
    readPart(words, value, depth + 1);
  }
}

function readUnknown(words: ShownWords, part: JsonFields, depth: number): void {
  const before = words.room.chars;
  for (const name of UNKNOWN) {
    words.lineEnd();
    readPart(words, part[name], depth + 1);
  }
  if (words.room.chars === before) words.leave("part");
}
