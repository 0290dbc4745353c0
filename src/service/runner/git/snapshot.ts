/** One entry of a commit's tree. */
export type SnapshotEntry = {
  /** Git's: `100644`, `100755`, `120000` (symbolic link), `160000` (submodule). */
  mode: string;
  oid: string;
  path: string;
  /** As git wrote it, a character for each byte (latin1), for writing it back unchanged. */
  raw: string;
};

/**
 * A commit's whole listing, by path, in memory. The new commit is built from this, so that nothing that happens to the mirror while
 * the agent runs can get into it.
 */
export type Snapshot = ReadonlyMap<string, SnapshotEntry>;

// oxlint-disable-next-line no-control-regex
const NOT_ASCII = /[^\u0000-\u007f]/;

/** Parses what `git ls-tree -r -z --full-tree` wrote. */
export function parseSnapshot(listing: Buffer): Snapshot {
  const entries = new Map<string, SnapshotEntry>();
  for (const raw of listing.toString("latin1").split("\0")) {
    const tab = raw.indexOf("\t");
    if (tab < 0) continue;
    const [mode = "", , oid = ""] = raw.slice(0, tab).split(" ");
    const path = pathOf(raw.slice(tab + 1));
    entries.set(path, { mode, oid, path, raw });
  }
  return entries;
}

/** What `git update-index -z --index-info` reads: entries as `parseSnapshot` found them, and new ones. */
export function toIndex(lines: Iterable<string>): Buffer {
  return Buffer.from([...lines].map((line) => `${line}\0`).join(""), "latin1");
}

/** A line for `toIndex`. */
export function indexLine(mode: string, oid: string, path: string): string {
  return `${mode} blob ${oid}\t${Buffer.from(path).toString("latin1")}`;
}

/** A name that is no UTF-8 cannot be matched or written here; it only has to stay as it is. */
function pathOf(name: string): string {
  if (!NOT_ASCII.test(name)) return name;
  const bytes = Buffer.from(name, "latin1");
  const path = bytes.toString("utf8");
  return Buffer.from(path).equals(bytes) ? path : `\u0000${name}`;
}
