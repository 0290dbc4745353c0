import type { IncomingMessage } from "node:http";
import { makeId } from "./ids.ts";

/** A file that was shared in a message. Without `user`, Slack doesn't say who uploaded it. */
export type SlackFile = { id: string; name: string; mimetype: string; content: Buffer; user?: string };

/** Settings for the way in which a workspace gives files to apps. */
export type FileSettings = {
  /**
   * True to leave everything but their ids out of messages, as in channels of several
   * organizations.
   */
  areByIdOnly: boolean;
  /** True to leave files out of `app_mention` events, as some apps have seen. */
  areNotInMentions: boolean;
  /** The time from which files can be downloaded, in epoch milliseconds. */
  readyAtMs: number;
};

/** Returns a file in the form that messages carry. */
export function fileInMessage(file: SlackFile, baseUrl: string, { areByIdOnly }: FileSettings) {
  return areByIdOnly
    ? { id: file.id, created: 1_767_603_600, mode: "file_access", file_access: "check_file_info" }
    : fileToWire(file, baseUrl);
}

/** Returns a file as `files.info` describes it before it can be downloaded. */
export function unreadyToWire({ id, name, mimetype, content, user }: SlackFile) {
  const size = content.length;
  return { id, name, title: name, mimetype, size, mode: "hosted", is_external: false, ...(user && { user }) };
}

/** Returns a file as messages carry it. See https://docs.slack.dev/reference/objects/file-object */
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
 * Answers a download. Without the token or `files:read`, Slack returns its sign-in page with status
 * 200 (reported in github.com/nlink-jp/scli, release 1.7.2). A file that isn't ready gets the same.
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
 * The uploads that have begun. A file exists once it was sent whole. See
 * https://docs.slack.dev/messaging/working-with-files#upload
 */
export class Uploads {
  readonly #tickets = new Map<string, { name: string; length: number; content: Buffer | null }>();

  begin(name: string, length: number): { id: string } {
    const id = makeId("F");
    this.#tickets.set(id, { name, length, content: null });
    return { id };
  }

  /** Takes a file's content and returns the status of the answer. */
  receive(id: string, content: Buffer): number {
    const ticket = this.#tickets.get(id);
    if (ticket === undefined) return 404;
    if (content.length !== ticket.length) return 400;
    ticket.content = content;
    return 200;
  }

  /** Returns the file that was sent, once. Undefined if none was sent, or it was taken before. */
  take(id: string): SlackFile | undefined {
    const ticket = this.#tickets.get(id);
    if (ticket === undefined || ticket.content === null) return undefined;
    this.#tickets.delete(id);
    return { id, name: ticket.name, mimetype: "text/plain", content: ticket.content };
  }
}
