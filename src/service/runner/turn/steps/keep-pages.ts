import { readFile, writeFile } from "node:fs/promises";
import { dirname, extname } from "node:path";
import { createGiveWay } from "../../../base/give-way.ts";
import type { StoredEnds } from "../../workspace/bytes/keep-bytes.ts";
import { inBatches, readObjectsById } from "../../workspace/git/objects.ts";
import type { DocsChange } from "../../workspace/tree/select-changes.ts";
import type { TurnContext } from "../../turn-context.ts";
import type { TurnTree } from "./open-tree.ts";

/** As much as a changed page may have. */
const MAX_PAGE_BYTES = 10 * 1024 * 1024;
/** Of pages that are read at once. */
const BATCH_BYTES = 16 * 1024 * 1024;
/** Of a folder, to see how its lines end, and as much as each may have. */
const MAX_SIBLINGS = 20;
const MAX_SIBLING_BYTES = 256 * 1024;
/** For comparing the lines of all pages with mixed line ends. */
const COMPARE_WITHIN_MS = 20_000;

/** What to do about changed pages whose copies aren't just committed. */
type Kept = {
  /** The pages that lost letters, and those that they were moved from. */
  damaged: ReadonlySet<string>;
  /** The pages that are as they were before. */
  same: ReadonlySet<string>;
};

type Pages = ReadonlyMap<string, Buffer>;

/**
 * Gives the copies of changed pages those bytes back that only the agent's editor has changed; see
 * `keepBytes`. `storedEnds` tells what `.gitattributes` say of a path.
 */
export async function keepPages(
  tree: TurnTree,
  changes: readonly DocsChange[],
  copies: ReadonlyMap<string, string>,
  storedEnds: (path: string) => StoredEnds | null,
  context: TurnContext,
): Promise<Kept> {
  const { apart, clock } = context;
  const origins = await originsOf(tree, changes, copies, context);
  const findSiblings = createFindSiblings(tree);
  const kept = { damaged: new Set<string>(), same: new Set<string>() };
  const endsAtMs = clock.monotonicMs() + COMPARE_WITHIN_MS;
  const isNew = (path: string) => !tree.start.snapshot.has(path) && !origins.has(path);
  const beforeOf = (path: string) => origins.get(path) ?? path;

  async function keep(path: string, copy: string, pages: Pages): Promise<void> {
    const before = pages.get(beforeOf(path)) ?? null;
    // It was a link, or larger than a page may be.
    if (before === null && !isNew(path)) return;
    const stored = storedEnds(path);
    const isAsked = before === null && stored === null;
    const siblings = isAsked ? await readPages(tree, await findSiblings(path), context) : new Map();
    const now = await readFile(copy);
    const withinMs = endsAtMs - clock.monotonicMs();
    const page = { before, now, stored, siblings: [...siblings.values()], withinMs };
    const { isDamaged, bytes } = await apart.read("keepBytes", page);
    if (isDamaged) for (const each of [path, beforeOf(path)]) kept.damaged.add(each);
    else if (before !== null && beforeOf(path) === path && (bytes ?? now).equals(before)) kept.same.add(path);
    else if (bytes !== null) await writeFile(copy, bytes);
  }

  const all = [...copies].map(([path, copy]) => ({ path, copy, bytes: sizeOf(tree, beforeOf(path)) }));
  for (const batch of inBatches(all, BATCH_BYTES)) {
    const paths = batch.map(({ path }) => beforeOf(path));
    const pages = await readPages(tree, paths, context);
    for (const { path, copy } of batch) await keep(path, copy, pages);
  }
  return kept;
}

/** The pages that new ones were moved from. */
async function originsOf(
  tree: TurnTree,
  changes: readonly DocsChange[],
  copies: ReadonlyMap<string, string>,
  context: TurnContext,
): Promise<Map<string, string>> {
  const isFew = (bytes: number) => bytes <= BATCH_BYTES;
  const gone = changes.filter(({ kind }) => kind === "deleted").map(({ path }) => path);
  const came = changes.filter(({ kind }) => kind === "added").map(({ path }) => path);
  const origins = new Map<string, string>();
  if (gone.length === 0 || came.length === 0) return origins;
  if (!isFew(gone.reduce((sum, path) => sum + sizeOf(tree, path), 0))) return origins;
  const pages = await readPages(tree, gone, context);
  const added: Buffer[] = [];
  let bytes = 0;
  for (const path of came) {
    const now = await readFile(copies.get(path) ?? "");
    bytes += now.length;
    added.push(isFew(bytes) ? now : Buffer.alloc(0));
  }
  const found = await context.apart.read("findMoved", { added, gone: [...pages.values()] });
  const from = [...pages.keys()];
  for (const [nth, path] of came.entries()) {
    const at = found[nth];
    if (at !== null && at !== undefined) origins.set(path, from[at] ?? path);
  }
  return origins;
}

/** Returns a function that finds some pages of the same kind in the nearest folder with any. */
function createFindSiblings({ start: { snapshot, written } }: TurnTree): (path: string) => Promise<string[]> {
  const giveWay = createGiveWay();
  const known = new Map<string, string[]>();
  return async (path) => {
    const ending = extname(path);
    for (let folder = dirname(path); ; folder = dirname(folder)) {
      const key = `${folder}\n${ending}`;
      let found = known.get(key);
      if (found === undefined) {
        const inFolder: string[] = [];
        const below: string[] = [];
        for (const each of snapshot.keys()) {
          await giveWay();
          if (extname(each) !== ending) continue;
          if ((written.get(each)?.size ?? Infinity) > MAX_SIBLING_BYTES) continue;
          if (dirname(each) === folder) inFolder.push(each);
          else if (folder === "." || each.startsWith(`${folder}/`)) below.push(each);
        }
        found = (inFolder.length > 0 ? inFolder : below).slice(0, MAX_SIBLINGS);
        known.set(key, found);
      }
      if (found.length > 0 || folder === ".") return found;
    }
  };
}

/** A page of the commit that the tree was made from. Null if no file is there, or a larger one. */
function readable({ start: { snapshot, written } }: TurnTree, path: string) {
  const entry = snapshot.get(path);
  const bytes = written.get(path)?.size ?? Infinity;
  return entry?.mode.startsWith("100") === true && bytes <= MAX_PAGE_BYTES ? { oid: entry.oid, bytes } : null;
}

/** The bytes of a page that can be read, or none. */
function sizeOf(tree: TurnTree, path: string): number {
  return readable(tree, path)?.bytes ?? 0;
}

/** Pages of the commit that the tree was made from, by path. Leaves out what can't be read. */
async function readPages(
  tree: TurnTree,
  paths: readonly string[],
  { mirror }: TurnContext,
): Promise<Map<string, Buffer>> {
  const oids = new Map(
    paths.flatMap((path) => {
      const page = readable(tree, path);
      return page === null ? [] : [[path, page.oid] as const];
    }),
  );
  const contents = await mirror.use((git) => readObjectsById(git, [...oids.values()]));
  return new Map([...oids].map(([path, oid]) => [path, contents.get(oid) ?? Buffer.alloc(0)]));
}
