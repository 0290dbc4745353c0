import type { FoundFile } from "../../rules/thread/files.ts";
import { UNNAMED_FILE, type SharedFile } from "../../rules/turn/request.ts";
import { jsonFields, jsonList, jsonText, type JsonFields } from "../../../shared/text/json-fields.ts";
import type { ShownWords } from "./shown-words.ts";

/**
 * The files of a message. One that Slack keeps elsewhere, hides or has deleted has fewer fields. In
 * channels that organizations share, a message may have its id alone, and `file_access:
 * "check_file_info"`: https://docs.slack.dev/reference/objects/file-object
 */
export function filesIn(files: readonly unknown[]): SharedFile[] {
  return files.map(jsonFields).flatMap((file) => (isGone(file) ? [] : (fileOf(file) ?? [])));
}

/** Sorts files by whether somebody else than the message's author uploaded them. */
export function byUploader(
  files: readonly unknown[],
  authorId: string | null,
): { own: unknown[]; others: { file: unknown; userId: string }[] } {
  const own: unknown[] = [];
  const others: { file: unknown; userId: string }[] = [];
  for (const file of files) {
    const userId = jsonText(jsonFields(file)["user"]);
    if (userId === "" || userId === authorId || isGone(jsonFields(file))) own.push(file);
    else others.push({ file, userId });
  }
  return { own, others };
}

/** Adds to a file what `files.info` says of it. */
export function lookedUpFile(file: SharedFile, answer: unknown): FoundFile {
  const fields = jsonFields(answer);
  const found = fileOf(fields);
  if (found === null) return { file, isFinal: false };
  const name = found.name === UNNAMED_FILE ? file.name : found.name;
  const userId = jsonText(fields["user"]);
  const by = userId === "" ? {} : { userId };
  const { isPartial: _, ...known } = found;
  if (isElsewhere(fields) || (known.url !== null && !isGone(fields)))
    return { file: { ...known, name }, isFinal: true, ...by };
  return { file: { ...known, name, url: null, isPartial: true }, isFinal: isGone(fields), ...by };
}

function fileOf(file: JsonFields): SharedFile | null {
  const { id, size, mimetype } = file;
  if (typeof id !== "string") return null;
  const mediaType = jsonText(mimetype).toLowerCase().split(";", 1)[0]?.trim() ?? "";
  const url = isElsewhere(file) ? null : jsonText(file["url_private_download"]) || null;
  const isPartial = !isElsewhere(file) && (url === null || mediaType === "");
  return {
    id,
    name: jsonText(file["name"]) || jsonText(file["title"]) || UNNAMED_FILE,
    mediaType: mediaType === "application/x-yaml" ? "application/yaml" : mediaType,
    size: typeof size === "number" ? size : 0,
    url,
    ...(isPartial && { isPartial }),
  };
}

/** True for a file that Slack only links to. */
function isElsewhere(file: JsonFields): boolean {
  return file["is_external"] === true || file["mode"] === "external";
}

function isGone(file: JsonFields): boolean {
  return file["mode"] === "tombstone" || file["mode"] === "hidden_by_limit";
}

/** Adds titles and descriptions of files, as people gave them. */
export function readCaptions(words: ShownWords, files: readonly unknown[]): void {
  for (const file of files.map(jsonFields)) {
    if (isGone(file)) continue;
    const name = jsonText(file["name"]) || jsonText(file["title"]);
    labeled(words, `Title of ${name}`, titleOf(file));
    labeled(words, `Description of ${name}`, jsonText(file["alt_txt"]));
  }
}

/**
 * Adds what files say: voice clips and emails. Files that are gone count as left out. True if
 * somebody else wrote some of the words.
 */
export function readFileWords(words: ShownWords, files: readonly unknown[]): boolean {
  let isOfOthers = false;
  for (const file of files.map(jsonFields)) {
    if (isGone(file)) {
      words.leave("deleted file");
      continue;
    }
    const isEmail = file["mode"] === "email" || file["filetype"] === "email";
    isOfOthers ||= isEmail;
    if (isEmail) readEmail(words, file);
    readTranscript(words, file);
    // Slack moved these to the message itself, so only old files have one, of anybody.
    const comment = file["initial_comment"];
    if (jsonText(comment) || jsonText(jsonFields(comment)["comment"])) words.leave("file comment");
  }
  return isOfOthers;
}

/** A title that a person gave. Slack makes one of the file's name. */
function titleOf(file: JsonFields): string {
  const title = jsonText(file["title"]);
  const name = jsonText(file["name"]);
  const isOfName = name === "" || name === title || name.startsWith(`${title}.`) || file["mode"] === "email";
  return isOfName ? "" : title;
}

function readEmail(words: ShownWords, file: JsonFields): void {
  labeled(words, "Email", jsonText(file["subject"]) || jsonText(file["title"]));
  labeled(words, "From", addresses(file["from"]));
  labeled(words, "To", addresses(file["to"]));
  labeled(words, "Cc", addresses(file["cc"]));
  const whole = jsonText(file["plain_text"]);
  const preview = jsonText(file["preview_plain_text"]) || jsonText(file["preview"]);
  words.lineEnd();
  words.text(whole || preview);
  if (whole === "" && (file["preview_is_truncated"] === true || file["has_more"] === true)) {
    words.leave("email ending");
  }
  const attached = file["original_attachment_count"];
  words.leave("email attachment", typeof attached === "number" ? attached : 0);
}

function addresses(people: unknown): string {
  return jsonList(people)
    .map((person) => {
      const { original, name, address } = jsonFields(person);
      return jsonText(original) || [jsonText(name), jsonText(address)].filter(Boolean).join(" ");
    })
    .filter(Boolean)
    .join(", ");
}

function readTranscript(words: ShownWords, file: JsonFields): void {
  const transcript = jsonFields(file["transcription"]);
  const { content, has_more: hasMore } = jsonFields(transcript["preview"]);
  labeled(words, `Transcript of ${jsonText(file["name"]) || "a clip"}`, jsonText(content));
  if (hasMore === true) words.leave("transcript ending");
}

function labeled(words: ShownWords, label: string, text: string): void {
  if (text.trim() === "") return;
  words.lineEnd();
  words.text(`${label}: ${text}`);
}
