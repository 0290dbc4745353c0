import { createHash, type Hash } from "node:crypto";
import type { Dirent } from "node:fs";
import { chmod, type FileHandle, opendir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../../../shared/errors.ts";
import { createGiveWay } from "../../../base/give-way.ts";
import { openInside } from "../confined-files.ts";
import { TurnFailedError } from "../../../base/run-error.ts";
import type { TreeStart } from "./fill-tree.ts";
import { parentsOf } from "./names.ts";
import { foldersOf, identityAt, type WrittenFile } from "./written-files.ts";

/**
 * A difference from the start. `other` is something that can't be committed, such as links, sockets
 * and folders that nobody may read.
 */
export type TreeChange = { path: string; kind: "added" | "modified" | "deleted" | "other" };

const MAX_ENTRIES = 200_000;
/** Of all paths together that weren't there. Each is looked at several times. */
const MAX_PATHS_CHARS = 16 * 1024 ** 2;
const MAX_DEPTH = 60;
/** Only files that were touched and still have their old size are read at all. */
const MAX_READ_BYTES = 2 * 1024 ** 3;
/** The file is inaccessible, gone, or in more folders than a path can name. */
const OUT_OF_REACH = new Set(["EACCES", "ENOENT", "ENAMETOOLONG", "ELOOP"]);
/** Installed packages: thousands of Markdown files that don't belong to these docs. */
const SKIPPED_FOLDERS = new Set(["node_modules", ".git"]);

/**
 * Compares the tree at `root` (a real path) with its start. Follows no link. A file that has
 * changed its state is compared by size, then by content, and never by times, which can be forged.
 * Rejects with a `TurnFailedError` if there is too much to compare, and with the signal's reason if
 * aborted.
 */
export async function scanTree(
  root: string,
  start: TreeStart,
  signal: AbortSignal,
  maxReadBytes = MAX_READ_BYTES,
): Promise<TreeChange[]> {
  // Its agent may have taken away the permissions. What is below stays as it was left.
  await chmod(root, 0o700);
  const scan = new TreeScan(root, start, signal, maxReadBytes);
  await scan.walk("", 0);
  await scan.addMissing();
  return scan.changes.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

class TreeScan {
  readonly changes: TreeChange[] = [];
  readonly #root: string;
  readonly #start: TreeStart;
  readonly #signal: AbortSignal;
  readonly #maxReadBytes: number;
  readonly #foldersBefore: ReadonlySet<string>;
  readonly #present = new Set<string>();
  /** Names that are no longer folders. Nobody meant to delete the files that were below them. */
  readonly #blocked = new Set<string>();
  readonly #giveWay = createGiveWay();
  #entries = 0;
  #pathsChars = 0;
  #readBytes = 0;

  constructor(root: string, start: TreeStart, signal: AbortSignal, maxReadBytes: number) {
    this.#root = root;
    this.#start = start;
    this.#signal = signal;
    this.#maxReadBytes = maxReadBytes;
    this.#foldersBefore = new Set(foldersOf(start.written.keys()));
  }

  /** Compares what is in a folder, and below it. */
  async walk(folder: string, depth: number): Promise<void> {
    for await (const entry of await opendir(join(this.#root, folder), { bufferSize: 1024 })) {
      this.#signal.throwIfAborted();
      await this.#giveWay();
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (!this.#start.written.has(path)) this.#countNew(path);
      if (entry.isDirectory()) await this.#enter(path, entry.name, depth);
      else await this.#compare(path, entry);
    }
  }

  /** Adds the files that were written at the start and that no folder has anymore. */
  async addMissing(): Promise<void> {
    for (const path of this.#start.written.keys()) {
      await this.#giveWay();
      if (this.#present.has(path)) continue;
      const isBlocked = parentsOf(path).some((folder) => this.#blocked.has(folder));
      this.changes.push({ path, kind: isBlocked ? "other" : "deleted" });
    }
  }

  #countNew(path: string): void {
    this.#entries += 1;
    this.#pathsChars += path.length;
    if (this.#entries > MAX_ENTRIES) {
      throw new TurnFailedError(`The agent left more than ${MAX_ENTRIES} files behind.`);
    }
    if (this.#pathsChars > MAX_PATHS_CHARS) {
      const megabytes = MAX_PATHS_CHARS / 1024 ** 2;
      throw new TurnFailedError(
        `The agent left files behind whose paths have more than ${megabytes} million characters together.`,
      );
    }
  }

  async #enter(path: string, name: string, depth: number): Promise<void> {
    if (SKIPPED_FOLDERS.has(name) && !this.#foldersBefore.has(path)) {
      this.changes.push({ path: `${path}/`, kind: "other" });
    } else if (depth >= MAX_DEPTH) {
      throw new TurnFailedError(`The agent left folders more than ${MAX_DEPTH} deep behind.`);
    } else {
      await this.walk(path, depth + 1).catch((error: unknown) => {
        if (!OUT_OF_REACH.has(codeOf(error) ?? "")) throw error;
        this.#blocked.add(path);
        this.changes.push({ path: `${path}/`, kind: "other" });
      });
    }
  }

  async #compare(path: string, entry: Dirent): Promise<void> {
    const { written, hasFineTimes } = this.#start;
    this.#present.add(path);
    const before = written.get(path);
    const isUntouched = () => identityAt(join(this.#root, path)) === before?.identity;
    if (hasFineTimes && before && entry.isFile() && isUntouched()) return;
    const kind = await this.#kindOf(path, entry, before);
    if (kind === "other") this.#blocked.add(path);
    if (kind !== "same") this.changes.push({ path, kind });
  }

  async #kindOf(
    path: string,
    entry: Dirent,
    before: WrittenFile | undefined,
  ): Promise<TreeChange["kind"] | "same"> {
    if (entry.isSymbolicLink()) {
      const target = await readlink(join(this.#root, path), "buffer");
      const isSame =
        before?.mode === "120000" && before.oid === hashOf(target.length).update(target).digest("hex");
      return isSame ? "same" : "other";
    }
    if (!entry.isFile() || before?.mode === "120000") return "other";
    const opened = await openInside(this.#root, path);
    if (opened === null) return "other";
    const { file, stats } = opened;
    await using _closing = file;
    // Something in the snapshot that wasn't written (because we couldn't use its name) isn't
    // replaced either.
    if (!before) return this.#start.snapshot.has(path) ? "other" : "added";
    if (stats.size !== before.size) return "modified";
    return (await this.#oidOf(file, stats.size)) === before.oid ? "same" : "modified";
  }

  /** The id that git gives to the content of a file. */
  async #oidOf(file: FileHandle, size: number): Promise<string> {
    this.#readBytes += size;
    if (this.#readBytes > this.#maxReadBytes) {
      throw new TurnFailedError(
        `The agent touched more than ${this.#maxReadBytes} bytes of files, too much to compare with ` +
          "the repository.",
      );
    }
    const hash = hashOf(size);
    const stream = file.createReadStream({ autoClose: false, end: Math.max(0, size - 1) });
    for await (const chunk of stream) {
      this.#signal.throwIfAborted();
      hash.update(chunk);
    }
    return hash.digest("hex");
  }
}

/** The beginning of a git object's hash, to which its bytes are added. */
function hashOf(size: number): Hash {
  return createHash("sha1").update(`blob ${size}\0`);
}
