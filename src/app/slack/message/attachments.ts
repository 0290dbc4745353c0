import type { ShownMessage } from "../../rules/turn/request.ts";
import {
  jsonFields,
  isJsonFields,
  jsonList,
  jsonText,
  type JsonFields,
} from "../../../shared/text/json-fields.ts";
import { byUploader, filesIn, readCaptions, readFileWords } from "./message-files.ts";
import { ATTACHMENT_ACTION, readBlocks } from "./parts.ts";
import { linkTo } from "./rich-text.ts";
import { givenText, readTextOrBlocks } from "./said.ts";
import { ShownWords, type Room } from "./shown-words.ts";

/**
 * Adds the words of attachments that show no message: by apps, or of a link's preview. True if
 * there are any.
 */
export function readAttachments(words: ShownWords, attachments: readonly unknown[]): boolean {
  let hasAny = false;
  for (const part of attachments) {
    if (!isJsonFields(part) || isMessage(part)) continue;
    words.lineEnd();
    readAttachment(words, part);
    hasAny = true;
  }
  return hasAny;
}

/** Fields whose words stand on lines of their own, before and after an attachment's body. */
const BEFORE = ["service_name", "pretext", "author_name", "author_subname"];

function readAttachment(words: ShownWords, part: JsonFields): void {
  const inside = new ShownWords(words.room);
  for (const text of new Set(BEFORE.map((name) => part[name]))) line(inside, text);
  readBody(inside, part);
  line(inside, part["footer"]);
  const { title, subtitle } = jsonFields(part["preview"]);
  for (const more of [title, subtitle]) line(inside, jsonFields(more)["text"]);
  inside.leave("file", jsonList(part["files"]).length);
  if (inside.isEmpty) inside.mrkdwn(givenText(jsonText(part["fallback"])));
  words.addAll(inside);
}

/** What an attachment itself says, whoever's it is. */
function readBody(words: ShownWords, part: JsonFields): void {
  const title = jsonText(part["title"]);
  words.lineEnd();
  if (title !== "" && jsonText(part["title_link"]) !== "")
    words.add(linkTo(jsonText(part["title_link"]), title));
  else words.mrkdwn(title);
  words.lineEnd();
  readTextOrBlocks(words, jsonText(part["text"]), jsonList(part["blocks"]));
  for (const field of jsonList(part["fields"]).map(jsonFields)) {
    line(words, [field["title"], field["value"]].map(jsonText).filter(Boolean).join(": "));
  }
  const actions = jsonList(part["actions"]).map(jsonFields);
  readBlocks(
    words,
    actions.map((action) => ({ ...action, type: ATTACHMENT_ACTION })),
  );
  words.leave("image", hasAny(part, ["image_url", "thumb_url"]) ? 1 : 0);
  words.leave("video", hasAny(part, ["video_url", "video_html"]) ? 1 : 0);
  words.leave("list", isJsonFields(part["list"]) ? 1 : 0);
  words.leave(
    "list item",
    (isJsonFields(part["list_record"]) ? 1 : 0) + jsonList(part["list_records"]).length,
  );
}

function line(words: ShownWords, text: unknown): void {
  words.lineEnd();
  words.mrkdwn(jsonText(text));
}

function hasAny(part: JsonFields, names: readonly string[]): boolean {
  return names.some((name) => jsonText(part[name]) !== "");
}

/** Messages that show each other end at this depth, and at this number. */
const MAX_HOLDERS = 20;
const MAX_MESSAGES = 200;

/** The messages that attachments show, and those that these show in turn. */
export function messagesIn(attachments: readonly unknown[], room: Room): ShownMessage[] {
  const found: ShownMessage[] = [];
  const left = readMessages(found, attachments, room, []);
  if (left > 0)
    found.push({ ...NOBODY, segments: [], leftOut: [{ what: "forwarded message", count: left }] });
  return found;
}

/**
 * Adds the files that others than their message's author uploaded, one by one. True if they speak.
 */
export function readFilesOfOthers(
  found: ShownMessage[],
  files: ReturnType<typeof byUploader>["others"],
  room: Room,
  { ts, within }: { ts: string; within: readonly Holder[] },
): boolean {
  let speaks = false;
  for (const { file, userId } of files) {
    const words = new ShownWords(room);
    const quotesOthers = readFileWords(words, [file]);
    speaks ||= !words.isEmpty;
    readCaptions(words, [file]);
    const by = { ts, authorId: userId, authorName: "" };
    addMessage(found, words, { by, files: [file], within, quotesOthers, isFile: true });
  }
  return speaks;
}

/** Whose message it is. */
type Holder = { ts: string; authorId: string | null };

const NOBODY: Holder = { ts: "", authorId: null };

/** Returns how many messages are too many or too deep. */
function readMessages(
  found: ShownMessage[],
  attachments: readonly unknown[],
  room: Room,
  holders: readonly Holder[],
): number {
  let left = 0;
  for (const part of attachments) {
    if (!isJsonFields(part) || !isMessage(part)) continue;
    if (found.length >= MAX_MESSAGES || holders.length >= MAX_HOLDERS) left += 1;
    else left += readForwarded(found, part, room, holders);
  }
  return left;
}

/** Adds the message that an attachment shows, and those that stand in it. */
function readForwarded(
  found: ShownMessage[],
  part: JsonFields,
  room: Room,
  holders: readonly Holder[],
): number {
  const inner = jsonList(part["message_blocks"]).map(jsonFields);
  const [first = {}] = inner;
  const owner = { ts: shownTs(part), authorId: authorOf(part) ?? userOf(jsonFields(first["message"])) };
  const held = inner.map((block) => ({ message: jsonFields(block["message"]), by: holderOf(block, owner) }));
  const isOfOwner = ({ by }: { by: Holder }) => by.ts === owner.ts && by.authorId === owner.authorId;
  const own = held.filter(isOfOwner).map(({ message }) => message);
  const others = held.filter((each) => !isOfOwner(each));

  const words = new ShownWords(room);
  line(words, part["pretext"]);
  const blocks = own.flatMap(blocksOf);
  readBody(words, blocks.length === 0 ? part : { ...part, blocks });
  const inherited = own.flatMap((message) => jsonList(message["attachments"]));
  const all = [...jsonList(part["files"]), ...own.flatMap((message) => jsonList(message["files"]))];
  const { files, filesOfOthers, quotesOthers } = readEnclosed(words, inherited, all, owner);
  if (words.isEmpty && others.length === 0) words.mrkdwn(givenText(jsonText(part["fallback"])));
  if (!words.isEmpty) line(words, part["footer"]);
  // Its text may repeat what others say in it.
  const within = [...holders, ...others.map(({ by }) => by)];
  const by = { ...owner, authorName: jsonText(part["author_name"]) };
  addMessage(found, words, { by, files, within, quotesOthers });

  readFilesOfOthers(found, filesOfOthers, room, { ts: owner.ts, within: [...within, owner] });
  let left = readMessages(found, inherited, room, [...holders, owner]);
  for (const other of others) left += readHeld(found, other, room, [...holders, owner]);
  return left;
}

/** Adds what a message's attachments and its author's own files say. */
function readEnclosed(
  words: ShownWords,
  attachments: readonly unknown[],
  all: readonly unknown[],
  { authorId }: Holder,
) {
  const { own: files, others: filesOfOthers } = byUploader(all, authorId);
  const hasAttached = readAttachments(words, attachments);
  const hasEmail = readFileWords(words, files);
  readCaptions(words, files);
  return { files, filesOfOthers, quotesOthers: hasAttached || hasEmail };
}

/** A message's blocks. One without any has its text in their place. */
function blocksOf({ blocks, text }: JsonFields): readonly unknown[] {
  const list = jsonList(blocks);
  return list.length > 0 || jsonText(text) === "" ? list : [{ type: "mrkdwn", text }];
}

/** Adds a message among those that an attachment shows, if it isn't the attachment's own. */
function readHeld(
  found: ShownMessage[],
  { message, by }: { message: JsonFields; by: Holder },
  room: Room,
  within: readonly Holder[],
): number {
  if (found.length >= MAX_MESSAGES) return 1;
  const words = new ShownWords(room);
  const attachments = jsonList(message["attachments"]);
  readTextOrBlocks(words, jsonText(message["text"]), jsonList(message["blocks"]));
  const enclosed = readEnclosed(words, attachments, jsonList(message["files"]), by);
  const { files, filesOfOthers, quotesOthers } = enclosed;
  const author = { ...by, authorName: jsonText(message["username"]) };
  addMessage(found, words, { by: author, files, within, quotesOthers });
  readFilesOfOthers(found, filesOfOthers, room, { ts: by.ts, within: [...within, by] });
  return readMessages(found, attachments, room, [...within, by]);
}

function addMessage(
  found: ShownMessage[],
  words: ShownWords,
  about: {
    by: Holder & { authorName: string };
    files: readonly unknown[];
    within: readonly Holder[];
    quotesOthers: boolean;
    isFile?: true;
  },
): void {
  const { authorName, ...by } = about.by;
  const files = filesIn(about.files);
  const leftOut = words.leftOut();
  if (words.isEmpty && files.length === 0 && leftOut.length === 0) return;
  found.push({
    ...by,
    ...(authorName !== "" && { authorName }),
    segments: words.segments,
    ...(about.isFile && { isFile: true }),
    ...(about.quotesOthers && { quotesOthers: true }),
    ...(files.length > 0 && { files }),
    ...(leftOut.length > 0 && { leftOut }),
    ...(about.within.length > 0 && { within: [...about.within] }),
  });
}

/** Who wrote a message among those that an attachment shows, and when. */
function holderOf(block: JsonFields, owner: Holder): Holder {
  const message = jsonFields(block["message"]);
  const times = new Set([jsonText(block["ts"]), jsonText(message["ts"])].filter(Boolean));
  const [ts = owner.ts] = times;
  const isOfApp = jsonText(message["bot_id"]) !== "";
  return {
    ts: times.size > 1 ? "" : ts,
    authorId: userOf(message) ?? (isOfApp ? null : owner.authorId),
  };
}

function userOf(message: JsonFields): string | null {
  return jsonText(message["user"]) || null;
}

/** Addresses of people's profiles. Some attachments name their author only so. */
const PROFILE = /\/team\/([UW][A-Z0-9]+)(?!\w)/;

function authorOf(part: JsonFields): string | null {
  return jsonText(part["author_id"]) || (PROFILE.exec(jsonText(part["author_link"]))?.[1] ?? null);
}

/**
 * True for an attachment that shows a message, even if it has only the message's address and none
 * of Slack's flags.
 */
function isMessage(part: JsonFields): boolean {
  const isMarked = part["is_msg_unfurl"] === true || part["is_share"] === true;
  return isMarked || jsonList(part["message_blocks"]).length > 0 || addressedBy(part).length > 0;
}

/**
 * Addresses of messages: permalinks, those of Slack's own client, and links that open the app. They
 * have the message's time in any of Slack's spellings, and anything may follow it.
 */
const MESSAGE_ADDRESS = new RegExp(
  String.raw`(?:\/(?:archives|messages|client\/\w+)\/\w+\/p?|\/thread\/\w+-|` +
    String.raw`^slack:\S*[?&]message=)(\d+)\.?(\d{6})(?!\w)`,
);

/** The times of the messages whose addresses an attachment has. */
function addressedBy(part: JsonFields): string[] {
  return ["from_url", "original_url", "title_link"].flatMap((name) => {
    const found = MESSAGE_ADDRESS.exec(jsonText(part[name]));
    return found === null ? [] : [found.slice(1).join(".")];
  });
}

/**
 * The `ts` of the message that an attachment shows. Empty if that is uncertain, so that it may be
 * any message.
 */
function shownTs(part: JsonFields): string {
  const own = /^\d+\.\d{6}$/.test(jsonText(part["ts"])) ? [jsonText(part["ts"])] : [];
  const [ts = "", ...others] = new Set([...own, ...addressedBy(part)]);
  return others.length === 0 ? ts : "";
}
