import { counted, plainLine } from "../../../shared/text/text.ts";
import { ATTACHMENT_LIMITS, ATTACHMENT_TYPE } from "../../../shared/contract/attachment.ts";
import { UNNAMED_FILE, type SharedFile } from "../turn/request.ts";

/**
 * What Slack says of a file, and of who uploaded it. If it isn't final, Slack may say more within
 * seconds.
 */
export type FoundFile = { file: SharedFile; isFinal: boolean; userId?: string };

/** Why a file isn't to be had from Slack. `later` may pass within seconds, `never` doesn't. */
export type Unfetched = "later" | "never";

/** Asks Slack for files. Neither call throws, and both take seconds at most. */
export interface FileReader {
  /** Asks for what a message didn't say about one of its files. */
  lookUp(file: SharedFile): Promise<FoundFile>;
  /** Downloads a file. */
  read(file: SharedFile): Promise<Uint8Array | "too-large" | Unfetched>;
}

/**
 * Sorts files by whether the service accepts them, judging by Slack's description. `isTaken` is
 * false if the service accepts no files at all. `unknown` are those that Slack hasn't described.
 */
export function sortFiles(
  files: readonly SharedFile[],
  isTaken: boolean,
): { taken: SharedFile[]; refused: SharedFile[]; unknown: SharedFile[] } {
  const taken: SharedFile[] = [];
  const unknown = isTaken ? files.filter(({ isPartial }) => isPartial === true) : [];
  let bytes = 0;
  for (const file of files) {
    const fits =
      isTaken &&
      taken.length < ATTACHMENT_LIMITS.count &&
      file.isPartial !== true &&
      file.url !== null &&
      ATTACHMENT_TYPE.test(file.mediaType) &&
      file.size <= ATTACHMENT_LIMITS.bytes &&
      bytes + file.size <= ATTACHMENT_LIMITS.totalBytes;
    if (!fits) continue;
    taken.push(file);
    bytes += file.size;
  }
  return {
    taken,
    unknown,
    refused: files.filter((file) => !taken.includes(file) && !unknown.includes(file)),
  };
}

type Named = readonly { name: string }[];

/** The notes on files that went along with a turn, and on those that couldn't. */
export function sentFilesNotes({
  sent,
  unsent,
  unfetched = [],
}: {
  sent: Named;
  unsent: Named;
  unfetched?: Named | undefined;
}): string[] {
  const missing = `⚠️ I couldn't get ${fileNames(unfetched)} from Slack`;
  return [
    ...along("Sent along", sent),
    ...unreadable(unsent, "didn't"),
    ...(unfetched.length === 0 ? [] : [`${missing}, so the agent works without ${them(unfetched)}.`]),
  ];
}

/** The notes on files that are to go along with a form. */
export function formFilesNotes(files: readonly SharedFile[], isTaken: boolean): string[] {
  const { taken, refused, unknown } = sortFiles(files, isTaken);
  return [
    ...along("With files", taken),
    ...unreadable(refused, "won't"),
    ...(unknown.length === 0
      ? []
      : [`Not read yet: ${fileNames(unknown)}. I'll get ${them(unknown)} from Slack when you send this.`]),
  ];
}

function along(label: string, files: Named): string[] {
  return files.length === 0 ? [] : [`${label}: ${fileNames(files)}`];
}

function unreadable(files: Named, not: "didn't" | "won't"): string[] {
  if (files.length === 0) return [];
  return [`⚠️ The agent can't read ${fileNames(files)}, so I ${not} send ${them(files)}.`];
}

function them({ length }: Named): string {
  return length === 1 ? "it" : "them";
}

const NAME_MAX_CHARS = 100;

/** File names in one readable line. Files without a name are counted. */
function fileNames(files: Named): string {
  const named = files.filter(({ name }) => name !== UNNAMED_FILE);
  const others = files.length - named.length;
  return [
    ...named.map(({ name }) => plainLine(name, NAME_MAX_CHARS)),
    ...(others === 0 ? [] : [others === 1 ? UNNAMED_FILE : counted(others, "file")]),
  ].join(", ");
}
