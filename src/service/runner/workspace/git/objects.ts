import { createGiveWay } from "../../../base/give-way.ts";
import { type CommitWords, commitTree } from "./commit-tree.ts";
import type { GitRunner } from "./git.ts";
import { GitError } from "./git-fault.ts";

const LINE_FEED = 0x0a;
const MAX_FILE_BYTES = 2 * 1024 * 1024;
const MAX_ALL_BYTES = 32 * 1024 * 1024;
const PLAIN_FILE = /^100\d{3} blob (?<oid>[0-9a-f]+) +(?<size>\d+)\t(?<path>.*)$/s;

/** A regular file of a commit. */
export type ListedFile = { oid: string; path: string; bytes: number };

/** One entry of a commit's tree. */
export type SnapshotEntry = {
  /** Git's mode: `100644`, `100755`, `120000` (symbolic link), `160000` (submodule). */
  mode: string;
  oid: string;
  path: string;
  /** As git wrote it, one character per byte (latin1), so that it can be written back unchanged. */
  raw: string;
};

/**
 * The listing of a whole commit by path, in memory. The new commit is built from this, so that
 * nothing that happens to the mirror while the agent runs can get into it.
 */
export type Snapshot = ReadonlyMap<string, SnapshotEntry>;

export async function readSnapshot(git: GitRunner, commit: string): Promise<Snapshot> {
  const listing = await git.run(["ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit]);
  const entries = new Map<string, SnapshotEntry>();
  const giveWay = createGiveWay();
  for (const raw of listing.toString("latin1").split("\0")) {
    await giveWay();
    const tab = raw.indexOf("\t");
    if (tab < 0) continue;
    const [mode = "", , oid = ""] = raw.slice(0, tab).split(" ");
    const path = pathOf(raw.slice(tab + 1));
    entries.set(path, { mode, oid, path, raw });
  }
  return entries;
}

/** A name that isn't UTF-8 can't be matched or written here. It just stays as it is. */
function pathOf(name: string): string {
  const bytes = Buffer.from(name, "latin1");
  const path = bytes.toString("utf8");
  return Buffer.from(path).equals(bytes) ? path : `\u0000${name}`;
}

/** A line for {@link writeIndex}. */
export function indexLine(mode: string, oid: string, path: string): string {
  return `${mode} blob ${oid}\t${Buffer.from(path).toString("latin1")}`;
}

/** Writes an index with these lines: unchanged entries of a snapshot, and new ones. */
export async function writeIndex(git: GitRunner, index: string, lines: Iterable<string>): Promise<void> {
  const stdin = Buffer.from([...lines].map((line) => `${line}\0`).join(""), "latin1");
  await git.run(["update-index", "-z", "--index-info"], { env: { GIT_INDEX_FILE: index }, stdin });
}

/**
 * Reads small objects with one process, in the order of `oids`. Rejects with a `GitError` if they
 * are larger than 64 MiB in total.
 */
export async function readObjects(git: GitRunner, oids: readonly string[]): Promise<Buffer[]> {
  if (oids.length === 0) return [];
  const answer = await git.run(["cat-file", "--batch"], { stdin: `${oids.join("\n")}\n` });
  let at = 0;
  return oids.map((oid) => {
    const end = answer.indexOf(LINE_FEED, at);
    const header = answer.subarray(at, Math.max(at, end)).toString("latin1");
    const match = /^([0-9a-f]+) blob (\d+)$/.exec(header);
    if (!match || match[1] !== oid) throw new GitError(`git cat-file has no blob ${oid}.`);
    const from = end + 1;
    // Each object is followed by a line feed.
    at = from + Number(match[2]) + 1;
    if (at > answer.length) throw new GitError("git cat-file ended before all objects were read.");
    return answer.subarray(from, at - 1);
  });
}

/** Like {@link readObjects}, by their ids, each read once. */
export async function readObjectsById(git: GitRunner, oids: readonly string[]): Promise<Map<string, Buffer>> {
  const asked = [...new Set(oids)];
  const contents = await readObjects(git, asked);
  return new Map(contents.map((content, at) => [asked[at] ?? "", content]));
}

/**
 * The regular files with these names in a commit. Leaves out those that are missing, are links, or
 * are larger than 2 MiB, and everything beyond 32 MiB in total.
 */
export async function readFiles(
  git: GitRunner,
  commit: string,
  paths: readonly string[],
): Promise<Map<string, Buffer>> {
  if (paths.length === 0) return new Map();
  const options = ["-z", "-l", "--full-tree", "--end-of-options"];
  const env = { GIT_LITERAL_PATHSPECS: "1" };
  const listing = await git.lines(["ls-tree", ...options, commit, ...paths], { env });
  let bytes = 0;
  const files = listing.flatMap((line) => {
    const { oid = "", size, path = "" } = PLAIN_FILE.exec(line)?.groups ?? {};
    if (size === undefined || Number(size) > MAX_FILE_BYTES || bytes + Number(size) > MAX_ALL_BYTES)
      return [];
    bytes += Number(size);
    return [{ oid, path }];
  });
  const oids = files.map(({ oid }) => oid);
  const contents = await readObjects(git, oids);
  return new Map(contents.map((content, at) => [files[at]?.path ?? "", content]));
}

/** The sizes of objects in bytes, without those that aren't here. */
export async function sizesOf(git: GitRunner, oids: Iterable<string>): Promise<Map<string, number>> {
  const stdin = [...oids].map((oid) => `${oid}\n`).join("");
  if (stdin === "") return new Map();
  const options = ["cat-file", "--batch-check=%(objectname) %(objectsize)"];
  const lines = (await git.text(options, { stdin })).split("\n");
  return new Map(
    lines.flatMap((line) => {
      const [oid = "", size = ""] = line.split(" ");
      return /^\d+$/.test(size) ? [[oid, Number(size)] as const] : [];
    }),
  );
}

/** Groups of at most so many bytes, in this order. A larger one is a group of its own. */
export function inBatches<One extends { bytes: number }>(all: readonly One[], maxBytes: number): One[][] {
  const batches: One[][] = [];
  let room = 0;
  for (const one of all) {
    if (one.bytes > room || batches.length === 0) {
      batches.push([]);
      room = maxBytes;
    }
    batches.at(-1)?.push(one);
    room -= one.bytes;
  }
  return batches;
}

/**
 * A file that one commit has different from another, and its mode there. `was` is null unless it
 * was a regular file, and `is` if it is gone.
 */
export type ChangedEntry = { path: string; mode: string; was: string | null; is: string | null };

const CHANGED_FILE = /^:(?<before>\d{6}) (?<mode>\d{6}) (?<was>\w+) (?<is>\w+) (?<status>[A-Z])/;

/** The files that differ between two commits. */
export async function changedEntries(git: GitRunner, from: string, to: string): Promise<ChangedEntry[]> {
  const listed = await git.lines(["diff-tree", ...CHANGED, from, to]);
  return listed.flatMap((line, at) => {
    const {
      before = "",
      mode = "",
      was = "",
      is = "",
      status,
    } = (at % 2 === 0 && CHANGED_FILE.exec(line)?.groups) || {};
    if (status === undefined) return [];
    const path = listed[at + 1] ?? "";
    return [{ path, mode, was: before.startsWith("100") ? was : null, is: status === "D" ? null : is }];
  });
}

/** The paths of the files that differ between two commits. */
export function changedPaths(git: GitRunner, from: string, to: string): Promise<string[]> {
  return git.lines(["diff-tree", "--name-only", ...CHANGED, from, to]);
}

const CHANGED = ["-r", "-z", "--no-renames", "--no-ext-diff", "--end-of-options"];

/** All regular files of a commit, and their sizes in bytes. */
export async function filesOfCommit(git: GitRunner, commit: string): Promise<ListedFile[]> {
  const options = ["-r", "-z", "-l", "--full-tree", "--end-of-options"];
  const listing = await git.lines(["ls-tree", ...options, commit]);
  return listing.flatMap((line) => {
    const { oid, size, path } = PLAIN_FILE.exec(line)?.groups ?? {};
    if (oid === undefined || size === undefined || path === undefined) return [];
    return [{ oid, path, bytes: Number(size) }];
  });
}

/** Stores files unchanged. Resolves to their object ids, in the same order. */
export async function storeFiles(git: GitRunner, files: readonly string[]): Promise<string[]> {
  if (files.length === 0) return [];
  const stdin = files.map((file) => `${file}\n`).join("");
  const ids = await git.text(["hash-object", "-w", "--no-filters", "--stdin-paths"], { stdin });
  const found = ids.split("\n").filter((id) => id !== "");
  if (found.length === files.length) return found;
  throw new GitError(`git hash-object answered ${found.length} ids for ${files.length} files.`);
}

type CommitInput = {
  /** The index with the entries, where no agent can reach it. */
  index: string;
  parent: string;
  /** The paths that it may change. */
  allowed: ReadonlySet<string>;
} & CommitWords;

/**
 * Creates a commit with exactly this content, without a work tree. Resolves to its id, or to null
 * if nothing differs.
 */
export async function makeCommit(git: GitRunner, input: CommitInput): Promise<string | null> {
  const { index, parent, allowed } = input;
  const tree = await git.text(["write-tree"], { env: { GIT_INDEX_FILE: index } });
  const commit = await commitTree(git, { ...input, tree, parents: [parent] });
  const differing = await changedPaths(git, parent, commit);
  const foreign = differing.find((path) => !allowed.has(path));
  if (foreign !== undefined) throw new GitError(`The commit changes ${foreign}, which it must not.`);
  return differing.length === 0 ? null : commit;
}

/** Creates the same commit with another message. Resolves to its id. */
export function withMessage(git: GitRunner, commit: string, words: CommitWords): Promise<string> {
  return commitTree(git, { ...words, tree: `${commit}^{tree}`, parents: [`${commit}^`] });
}
