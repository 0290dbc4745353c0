import { randomBytes, webcrypto } from "node:crypto";
import { mkdir, open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../../shared/machine/ports.ts";
import { messageOf } from "../../shared/errors.ts";

/** A file that came with a prompt, in memory. */
export type NewAttachment = { name: string; mediaType: string; content: Buffer<ArrayBuffer> };

/** A file that came with a prompt, on disk. The id is its name there. */
export type KeptAttachment = { id: string; name: string; mediaType: string; bytes: number };

/** A file of a request that isn't accepted yet. `sha256` is hexadecimal. */
export type WrittenAttachment = KeptAttachment & { sha256: string };

export type AttachmentFilesDeps = {
  /** A folder for nothing else. {@link AttachmentFiles.sweep} creates it. */
  folder: string;
  /** The ids of the files whose turns are unfinished. */
  needed: () => ReadonlySet<string>;
  logger: Logger;
};

/**
 * The attachments of unfinished turns. Each is a file beside the database. Writing to the database
 * would block the thread that answers HTTP. A file is on disk before its turn is accepted, and is
 * removed once no turn needs it.
 */
export class AttachmentFiles {
  readonly #deps: AttachmentFilesDeps;
  /** The files of requests that aren't accepted yet. */
  readonly #underWay = new Set<string>();

  constructor(deps: AttachmentFilesDeps) {
    this.#deps = deps;
  }

  pathOf(id: string): string {
    return join(this.#deps.folder, id);
  }

  /**
   * Calls `accept` with the attachments once they are safe from a power cut. Removes those that it
   * doesn't take.
   */
  async keep<T>(
    attachments: readonly NewAttachment[],
    accept: (written: readonly WrittenAttachment[]) => Promise<T>,
  ): Promise<T> {
    if (attachments.length === 0) return accept([]);
    const named = attachments.map((attachment) => ({ ...attachment, id: randomBytes(16).toString("hex") }));
    for (const { id } of named) this.#underWay.add(id);
    try {
      const written: WrittenAttachment[] = [];
      for (const attachment of named) written.push(await this.#write(attachment));
      await using entries = await open(this.#deps.folder, "r");
      await entries.sync();
      return await accept(written);
    } finally {
      for (const { id } of named) this.#underWay.delete(id);
      await this.sweep();
    }
  }

  /** Removes the files that no turn needs anymore. Never rejects. */
  async sweep(): Promise<void> {
    const { folder, needed, logger } = this.#deps;
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const names = await readdir(folder);
      if (names.length === 0) return;
      const kept = needed();
      const gone = names.filter((name) => !kept.has(name) && !this.#underWay.has(name));
      await Promise.all(gone.map((name) => rm(this.pathOf(name), { recursive: true, force: true })));
    } catch (thrown) {
      logger.warn({ problem: messageOf(thrown) }, "attachments of ended turns can't be removed");
    }
  }

  async #write({ id, name, mediaType, content }: NewAttachment & { id: string }): Promise<WrittenAttachment> {
    await using file = await open(this.pathOf(id), "wx", 0o600);
    await file.writeFile(content);
    await file.sync();
    // Like writing, this doesn't run on this thread.
    const digest = await webcrypto.subtle.digest("SHA-256", content);
    const sha256 = Buffer.from(digest).toString("hex");
    return { id, name, mediaType, bytes: content.length, sha256 };
  }
}
