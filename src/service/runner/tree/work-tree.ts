import { lstatSync, mkdirSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { createIsDoc } from "../changes/docs-globs.ts";
import { isPortable } from "../changes/portable-name.ts";
import { copyChanges } from "../changes/read-changes.ts";
import { scanTree, type TreeChange, type TreeStart } from "../changes/scan-tree.ts";
import { type Selection, selectChanges } from "../changes/select-changes.ts";
import { isSafePath } from "../git/safe-path.ts";
import { indexLine, parseSnapshot, toIndex, type Snapshot, type SnapshotEntry } from "../git/snapshot.ts";
import { DocsAgentError } from "../../../errors.ts";
import { readKept, writeKept } from "./kept-note.ts";
import { moveIntact } from "./move-intact.ts";
import {
  emptyFolder,
  filesIn,
  identityOf,
  noteFile,
  type NotedFile,
  type NotedFolder,
  noteFolders,
} from "../changes/noted.ts";

/** What the parts of a turn's tree come to. `Uint8Array`s are what git reads. */
export type Opened = {
  /** For `git update-index -z --index-info`: the files that are still to be written. */
  index: Uint8Array;
  /** The same files, for `git checkout-index -z --stdin`. */
  paths: Uint8Array;
  /** The objects that hold the targets of the links that are still to be made. */
  links: string[];
  /** The ignore files of the repository. */
  ignoreRules: { path: string; oid: string }[];
};

export type SelectInput = {
  docs: readonly string[];
  /** New files that the repository ignores. */
  ignored: ReadonlySet<string>;
  /** Leaves out new files whose names some systems can't hold. */
  portableNames: boolean;
  secrets: readonly string[];
  copies: string;
};

/** The tree cannot be used; a fault of ours or of the disk. */
export class WorkTreeError extends DocsAgentError {
  readonly code = "work_tree";
}

const MAX_LINK_BYTES = 4096;
/** Some file systems keep times in steps of two seconds. */
const MAX_TICK_MS = 3000;

/**
 * The tree of one turn: filled from a commit, given to an agent, compared, and what is still as it was kept for another turn.
 */
export class WorkTree {
  readonly #root: string;
  /** An empty folder of our own on the same disk as the tree. */
  readonly #aside: string;
  #snapshot: Snapshot = new Map();
  #links: SnapshotEntry[] = [];
  #files: SnapshotEntry[] = [];
  #noted: NotedFolder = emptyFolder();
  #start: TreeStart = { snapshot: new Map(), written: new Map(), hasFineTimes: false };
  #changes: TreeChange[] = [];
  #selection: Selection = { committed: [], leftOut: [] };

  constructor(root: string, aside: string) {
    this.#root = root;
    this.#aside = aside;
  }

  /**
   * Moves what the tree kept at `kept` has in common with the commit into the empty root, removes the rest of it, and tells what
   * is missing. Only regular files and links with names that are safe are ever there.
   */
  open(listing: Buffer, kept: string | null): Opened {
    this.#snapshot = parseSnapshot(listing);
    this.#noted = kept === null ? emptyFolder() : this.#reuse(kept);
    const there = new Set([...filesIn(this.#noted)].map(([path]) => path));
    const missing = [...this.#snapshot.values()].filter(({ path }) => isSafePath(path) && !there.has(path));
    this.#files = missing.filter(({ mode }) => mode === "100644" || mode === "100755");
    this.#links = missing.filter(({ mode }) => mode === "120000");
    const ignoreRules = [...this.#snapshot.values()].filter(
      ({ path, mode }) => /(?:^|\/)\.gitignore$/.test(path) && mode.startsWith("100") && isSafePath(path),
    );
    return {
      index: toIndex(this.#files.map(({ raw }) => raw)),
      paths: Buffer.from(this.#files.map(({ path }) => `${path}\0`).join("")),
      links: this.#links.map(({ oid }) => oid),
      ignoreRules: ignoreRules.map(({ path, oid }) => ({ path, oid })),
    };
  }

  /**
   * To be called when git has written the files: makes the links that stay inside the tree, and notes what is there. `targets` are
   * those of `Opened.links`, in that order.
   */
  async complete(targets: readonly Uint8Array[]): Promise<void> {
    for (const entry of this.#files) this.#note(entry);
    for (const [index, entry] of this.#links.entries()) {
      const target = targets[index];
      if (target !== undefined && makeLink(this.#root, entry.path, Buffer.from(target))) this.#note(entry);
    }
    noteFolders(this.#root, this.#noted);
    this.#start = {
      snapshot: this.#snapshot,
      written: new Map(filesIn(this.#noted)),
      hasFineTimes: await this.#ticks(),
    };
  }

  /** Compares the tree with its start. Resolves to the new documentation files: git may know that they are to be ignored. */
  async scan(docs: readonly string[], signal: AbortSignal): Promise<string[]> {
    this.#changes = await scanTree(this.#root, this.#start, signal);
    const isDoc = createIsDoc(docs);
    return this.#changes.filter(({ path, kind }) => kind === "added" && isDoc(path)).map(({ path }) => path);
  }

  /** Chooses what will be committed, and copies it to the empty folder `copies`, out of the agent's reach. */
  async select({ docs, ignored, portableNames, secrets, copies }: SelectInput): Promise<Selection> {
    this.#selection = selectChanges(
      this.#changes,
      this.#snapshot.keys(),
      createIsDoc(docs),
      (path) => ignored.has(path) || (portableNames && !isPortable(path)),
    );
    await copyChanges(this.#root, this.#selection.committed, secrets, copies);
    return this.#selection;
  }

  /**
   * The whole index of the new commit, for `git update-index -z --index-info`. `oids` are the objects of the copies, in their order.
   * Modes stay as they are; new files are plain files.
   */
  nextIndex(oids: readonly string[]): Uint8Array {
    const lines = new Map([...this.#snapshot].map(([path, { raw }]) => [path, raw]));
    let copies = 0;
    for (const { path, kind } of this.#selection.committed) {
      if (kind === "deleted") {
        lines.delete(path);
        continue;
      }
      const mode = this.#snapshot.get(path)?.mode === "100755" ? "100755" : "100644";
      lines.set(path, indexLine(mode, oids[copies] ?? "", path));
      copies += 1;
    }
    return toIndex(lines.values());
  }

  /**
   * Moves what is still as it was written to the new folder `kept`, for another turn, and removes the rest as far as that is possible.
   * Nothing that an agent made or changed goes along. False if that can't be told here, and nothing is kept.
   */
  keep(kept: string): boolean {
    if (!this.#start.hasFineTimes) return false;
    mkdirSync(join(kept, "tree"), { recursive: true, mode: 0o700 });
    this.#noted = moveIntact(this.#root, join(kept, "tree"), this.#noted, () => true, this.#aside);
    noteFolders(join(kept, "tree"), this.#noted);
    writeKept(kept, this.#noted);
    rmSync(this.#root, { recursive: true, force: true });
    return true;
  }

  #reuse(kept: string): NotedFolder {
    try {
      const isSame = (path: string, { oid, mode }: NotedFile) => {
        const entry = this.#snapshot.get(path);
        return entry !== undefined && entry.oid === oid && entry.mode === mode;
      };
      return moveIntact(join(kept, "tree"), this.#root, readKept(kept), isSame, this.#aside);
    } catch {
      // It costs more, but it's no different, to begin with nothing.
      rmSync(this.#root, { recursive: true, force: true });
      mkdirSync(this.#root, { mode: 0o700 });
      return emptyFolder();
    } finally {
      rmSync(kept, { recursive: true, force: true });
    }
  }

  #note({ path, oid, mode }: SnapshotEntry): void {
    const stats = lstatSync(join(this.#root, path), { bigint: true, throwIfNoEntry: false });
    if (stats === undefined) throw new WorkTreeError(`git did not write ${path}`);
    noteFile(this.#noted, path, { identity: identityOf(stats), oid, mode, size: Number(stats.size) });
  }

  /**
   * Waits until the disk's clock has moved on, so that whatever changes a file from now on gets another time than the one that was
   * noted. False if it doesn't within seconds.
   */
  async #ticks(): Promise<boolean> {
    const probe = join(this.#aside, "probe");
    const first = timeOfNew(probe);
    const giveUpAt = performance.now() + MAX_TICK_MS;
    while (performance.now() < giveUpAt) {
      if (timeOfNew(probe) > first) return true;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return false;
  }
}

function timeOfNew(path: string): bigint {
  writeFileSync(path, "");
  const { ctimeNs } = lstatSync(path, { bigint: true });
  unlinkSync(path);
  return ctimeNs;
}

function makeLink(root: string, path: string, bytes: Buffer): boolean {
  const target = bytes.toString("utf8");
  if (bytes.length > MAX_LINK_BYTES || target.startsWith("/") || target.includes("\0")) return false;
  const end = normalize(join(dirname(path), target));
  if (end === ".." || end.startsWith("../")) return false;
  mkdirSync(dirname(join(root, path)), { recursive: true });
  symlinkSync(target, join(root, path));
  return true;
}
