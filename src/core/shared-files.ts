import { ATTACHMENT_LIMITS, ATTACHMENT_TYPE } from "./attachment.ts";
import type { Request, SharedFile } from "./request.ts";
import type { Turn } from "./turn.ts";
import { plainLine } from "./text.ts";

/** The most files of one request that are looked at; more than a service takes. */
const FILES_MAX = 20;
const NAME_MAX_CHARS = 100;

/** Gets a file's content from Slack. Null: it can't be had, or is too large. Never throws. */
export interface FileReader {
  read(teamId: string, file: SharedFile): Promise<Uint8Array | null>;
}

/** The files of all messages that go along: those of the message that asked, of the picked one, and of the thread's newest ones first. */
export function filesOf({
  files,
  quoted,
  context,
}: Pick<Request, "files" | "quoted" | "context">): SharedFile[] {
  const all = [
    ...(files ?? []),
    ...(quoted?.files ?? []),
    ...(context?.messages ?? []).toReversed().flatMap((message) => message.files ?? []),
  ];
  const byId = new Map(all.map((file) => [file.id, file]));
  return [...byId.values()].slice(0, FILES_MAX);
}

/** Which of them a service takes, going by what Slack says of them; `isTaken`: it takes files at all. */
export function sortFiles(
  files: readonly SharedFile[],
  isTaken: boolean,
): { taken: SharedFile[]; refused: SharedFile[] } {
  const taken: SharedFile[] = [];
  let bytes = 0;
  for (const file of files) {
    const fits =
      isTaken &&
      taken.length < ATTACHMENT_LIMITS.count &&
      file.url !== null &&
      ATTACHMENT_TYPE.test(file.mediaType) &&
      file.size <= ATTACHMENT_LIMITS.bytes &&
      bytes + file.size <= ATTACHMENT_LIMITS.totalBytes;
    if (!fits) continue;
    taken.push(file);
    bytes += file.size;
  }
  return { taken, refused: files.filter((file) => !taken.includes(file)) };
}

/** What the thread says of files that a turn was sent with, or without; empty: there were none. */
export function filesText({ files }: Pick<Turn, "files">): string[] {
  const { sent = [], unsent = [] } = files ?? {};
  return [
    ...(sent.length === 0 ? [] : [`Sent along: ${fileNames(sent)}`]),
    ...(unsent.length === 0
      ? []
      : [
          `⚠️ The agent can't read ${fileNames(unsent)}, so I didn't send ${unsent.length === 1 ? "it" : "them"}.`,
        ]),
  ];
}

/** Names as a person reads them, in one line. */
export function fileNames(files: readonly { name: string }[]): string {
  return files.map(({ name }) => plainLine(name, NAME_MAX_CHARS)).join(", ");
}
