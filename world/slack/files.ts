import type { IncomingMessage } from "node:http";
import { makeId } from "./ids.ts";

/** A file that was shared in a message. Without `user`, Slack doesn't say who uploaded it. */
export type SlackFile = { id: string; name: string; mimetype: string; content: Buffer; user?: string };

/** How a workspace gives files to apps. */
export type FileSettings = {
  /** True as in channels of several organizations: messages have their files' ids alone. */
  areByIdOnly: boolean;
  /** True if `app_mention` events never have files, as some apps saw them. */
  areNotInMentions: boolean;
  /** From when on files can be downloaded, epoch milliseconds. */
  readyAtMs: number;
};

/** A file in a message. */
export function fileInMessage(file: SlackFile, baseUrl: string, { areByIdOnly }: FileSettings) {
  return areByIdOnly
    ? { id: file.id, created: 1_767_603_600, mode: "file_access", file_access: "check_file_info" }
    : fileToWire(file, baseUrl);
}

/** As `files.info` describes it before it can be downloaded. */
export function unreadyToWire({ id, name, mimetype, content, user }: SlackFile) {
  const size = content.length;
  return { id, name, title: name, mimetype, size, mode: "hosted", is_external: false, ...(user && { user }) };
}

/** As messages carry it: https://docs.slack.dev/reference/objects/file-object */
export function fileToWire({ id, name, mimetype, content, user }: SlackFile, baseUrl: string) {
  const url = `${baseUrl}files-pri/${id}`;
  return {
    id,
    name,
    title: name,
    mimetype,
    size: content.length,
    mode: "hosted",
    is_external: false,
    ...(user && { user }),
    url_private: `${url}/${encodeURIComponent(name)}`,
    url_private_download: `${url}/download/${encodeURIComponent(name)}`,
  };
}

/**
 * What a download is answered with. Without the token, or without the scope `files:read`, Slack
 * leads to a page to sign in, with 200 (github.com/nlink-jp/scli, release 1.7.2, tells of it). So
 * does a file that isn't ready.
 */
export function answerDownload(
  file: SlackFile | undefined,
  request: IncomingMessage,
  { token, scopes, isReady }: { token: string; scopes: readonly string[]; isReady: boolean },
): { status: number; body: Buffer | string; type: string } {
  const isAllowed = request.headers.authorization === `Bearer ${token}` && scopes.includes("files:read");
  if (!isAllowed || !isReady) {
    return {
      status: 200,
      body: "<!DOCTYPE html><title>Sign in | Slack</title>",
      type: "text/html; charset=utf-8",
    };
  }
  if (file === undefined) return { status: 404, body: "no such file", type: "text/plain" };
  return { status: 200, body: file.content, type: file.mimetype };
}

/**
 * Uploads under way: https://docs.slack.dev/messaging/working-with-files#upload. A file is there
 * once it was sent whole.
 */
export class Uploads {
  readonly #tickets = new Map<string, { name: string; length: number; content: Buffer | null }>();

  begin(name: string, length: number): { id: string } {
    const id = makeId("F");
    this.#tickets.set(id, { name, length, content: null });
    return { id };
  }

  /** The status that sending a file is answered with. */
  receive(id: string, content: Buffer): number {
    const ticket = this.#tickets.get(id);
    if (ticket === undefined) return 404;
    if (content.length !== ticket.length) return 400;
    ticket.content = content;
    return 200;
  }

  /** The file that was sent; undefined if none was, or it was taken before. */
  take(id: string): SlackFile | undefined {
    const ticket = this.#tickets.get(id);
    if (ticket === undefined || ticket.content === null) return undefined;
    this.#tickets.delete(id);
    return { id, name: ticket.name, mimetype: "text/plain", content: ticket.content };
  }
}
