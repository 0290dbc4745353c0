/** One entry of a commit's tree. */
export type SnapshotEntry = {
  /** Git's: `100644`, `100755`, `120000` (symbolic link), `160000` (submodule). */
  mode: string;
  oid: string;
  path: string;
  /** As git wrote it, for writing it back unchanged. */
  raw: Buffer;
};

/**
 * A commit's whole listing, by path, in memory. The new commit is built from this, so that nothing that happens to the mirror while
 * the agent runs can get into it.
 */
export type Snapshot = ReadonlyMap<string, SnapshotEntry>;

const TAB = 0x09;

/** Parses what `git ls-tree -r -z --full-tree` wrote. */
export function parseSnapshot(listing: Buffer): Snapshot {
  const entries = new Map<string, SnapshotEntry>();
  let at = 0;
  while (at < listing.length) {
    const end = listing.indexOf(0, at);
    const raw = listing.subarray(at, end < 0 ? listing.length : end);
    at += raw.length + 1;
    const tab = raw.indexOf(TAB);
    const [mode = "", , oid = ""] = raw.subarray(0, tab).toString("latin1").split(" ");
    const name = raw.subarray(tab + 1);
    // A name that is no UTF-8 cannot be matched or written here; it only has to stay as it is.
    const path = isUtf8Name(name) ? name.toString("utf8") : `\u0000${name.toString("latin1")}`;
    entries.set(path, { mode, oid, path, raw });
  }
  return entries;
}

function isUtf8Name(name: Buffer): boolean {
  return Buffer.from(name.toString("utf8"), "utf8").equals(name);
}
