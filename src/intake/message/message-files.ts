import type { SharedFile } from "../../core/turn/request.ts";
import { jsonFields, jsonList, jsonText, type JsonFields } from "./json.ts";
import type { ShownWords } from "./shown-words.ts";

/**
 * The files of a message. One that Slack keeps elsewhere, hides or has deleted has fewer fields:
 * https://docs.slack.dev/reference/objects/file-object
 */
export function filesIn(files: readonly unknown[]): SharedFile[] {
  return files.map(jsonFields).flatMap((file) => {
    const { id, size, mimetype, is_external, url_private_download: url } = file;
    if (typeof id !== "string" || isGone(file)) return [];
    const mediaType = jsonText(mimetype).toLowerCase().split(";", 1)[0]?.trim() ?? "";
    return [
      {
        id,
        name: jsonText(file["name"]) || jsonText(file["title"]) || "a file",
        mediaType: mediaType === "application/x-yaml" ? "application/yaml" : mediaType,
        size: typeof size === "number" ? size : 0,
        url: is_external === true || typeof url !== "string" ? null : url,
      },
    ];
  });
}

function isGone(file: JsonFields): boolean {
  return file["mode"] === "tombstone" || file["mode"] === "hidden_by_limit";
}

/**
 * Adds the words that Slack shows with files: what a voice clip says, an email, and descriptions.
 * True if somebody else wrote some of them.
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
    const name = jsonText(file["name"]) || jsonText(file["title"]);
    labelled(words, `Title of ${name}`, titleOf(file));
    labelled(words, `Description of ${name}`, jsonText(file["alt_txt"]));
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
  labelled(words, "Email", jsonText(file["subject"]) || jsonText(file["title"]));
  labelled(words, "From", addresses(file["from"]));
  labelled(words, "To", addresses(file["to"]));
  labelled(words, "Cc", addresses(file["cc"]));
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
  labelled(words, `Transcript of ${jsonText(file["name"]) || "a clip"}`, jsonText(content));
  if (hasMore === true) words.leave("transcript ending");
}

function labelled(words: ShownWords, label: string, text: string): void {
  if (text.trim() === "") return;
  words.lineEnd();
  words.text(`${label}: ${text}`);
}
