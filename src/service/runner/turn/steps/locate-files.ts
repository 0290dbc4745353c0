import type { GitRunner } from "../../workspace/git/git.ts";
import { readObjectsById, type Snapshot, type SnapshotEntry } from "../../workspace/git/objects.ts";
import { parentsOf } from "../../workspace/tree/names.ts";
import { linkedPath, withoutLine } from "../claims/source-place.ts";

/** Nobody has so many links in a row. */
const MAX_LINKS = 10;

/** A regular file of a commit by its own path. */
export type LocatedFile = Pick<SnapshotEntry, "path" | "oid">;

/**
 * Finds the files that paths lead to in a commit's listing, through symbolic links of files and
 * folders that stay in it. Those that lead to no file are missing. Rejects with a `GitError`.
 */
export async function locateFiles(
  git: GitRunner,
  listing: Snapshot,
  paths: readonly string[],
): Promise<Map<string, LocatedFile>> {
  const found = new Map<string, LocatedFile>();
  let open = new Map(paths.flatMap((path) => [path, withoutLine(path)]).map((path) => [path, path]));
  for (let round = 0; round < MAX_LINKS && open.size > 0; round += 1) {
    const links = [...open].flatMap(([named, path]) => {
      const link = linkIn(listing, path);
      if (link !== null) return [{ named, path, link }];
      const entry = listing.get(path);
      if (entry?.mode.startsWith("100") === true) found.set(named, { path, oid: entry.oid });
      return [];
    });
    const targets = await readObjectsById(
      git,
      links.map(({ link }) => link.oid),
    );
    open = new Map(
      links.flatMap(({ named, path, link }) => {
        const rest = path.slice(link.path.length + 1);
        const next = linkedPath(link.path, targets.get(link.oid)?.toString("utf8") ?? "", rest);
        return next === null ? [] : [[named, next] as const];
      }),
    );
  }
  return new Map(
    paths.flatMap((path) => {
      const file = found.get(path) ?? found.get(withoutLine(path));
      return file === undefined ? [] : [[path, file] as const];
    }),
  );
}

/** The first symbolic link that a path goes through, or null. */
function linkIn(listing: Snapshot, path: string): SnapshotEntry | null {
  for (const part of [...parentsOf(path), path]) {
    const entry = listing.get(part);
    if (entry?.mode === "120000") return entry;
  }
  return null;
}
