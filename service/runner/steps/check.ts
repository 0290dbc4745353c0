import { join } from "node:path";
import type { GitRunner } from "../git/git.ts";
import { ignoredPaths, indexLine, makeCommit, readSnapshot, storeFiles, writeIndex } from "../git/objects.ts";
import { createGiveWay } from "../../base/give-way.ts";
import { boundedPaths } from "../publish/bounded-paths.ts";
import { isNoRoom, TurnFailedError } from "../../base/run-error.ts";
import { copyChanges, createIsDoc, selectChanges } from "../tree/select-changes.ts";
import { isPortable, isSafePath } from "../tree/names.ts";
import { scanTree, type TreeChange } from "../tree/scan-tree.ts";
import type { RunContext, RunnerTurn } from "../turn.ts";
import { commitWords } from "./commit-words.ts";
import type { TurnTree } from "./open-tree.ts";

/**
 * The part of a tree that is worth committing. `commit` is null if there is none. `files` is the
 * number of changed files.
 */
export type CheckedWork = { commit: string | null; files: number; leftOut: string[] };

const TIME_LIMIT_MS = 60_000;

/**
 * Finds what the agent changed, and commits what belongs to the docs. Rejects with a
 * `TurnFailedError` if it is too much, in number, size or time, or there is no room for it.
 */
export async function checkWork(
  tree: TurnTree,
  summary: string | null,
  turn: RunnerTurn,
  context: RunContext,
): Promise<CheckedWork> {
  try {
    context.onProgress("looking at what changed");
    return await commitDocs(tree, await changesIn(tree, context), summary, turn, context);
  } catch (error) {
    // Another run of its agent would only fill the disk again.
    throw isNoRoom(error)
      ? new TurnFailedError("The service's disk has no room for the agent's work.")
      : error;
  }
}

/**
 * Makes a round's commit again without these files, and with a message that says nothing of the
 * agent's. `commit` is null if nothing is left.
 */
export async function withoutFiles(
  { commit: parent, start: { snapshot }, folders: { scratch } }: TurnTree,
  work: CheckedWork & { commit: string },
  paths: ReadonlySet<string>,
  turn: RunnerTurn,
  context: RunContext,
): Promise<CheckedWork> {
  const { mirror } = context;
  const words = await commitWords(turn, context, null);
  return mirror.use(async (git) => {
    const entries = new Map(await readSnapshot(git, work.commit));
    for (const path of paths) {
      const before = snapshot.get(path);
      if (before === undefined) entries.delete(path);
      else entries.set(path, before);
    }
    const index = join(scratch, "without");
    const lines = [...entries.values()].map(({ raw }) => raw);
    await writeIndex(git, index, lines);
    const allowed = new Set(await changedPaths(git, parent, work.commit));
    const commit = await makeCommit(git, { index, parent, allowed, ...words });
    return { ...work, commit, files: work.files - paths.size };
  });
}

/** The paths that a commit changes against another. */
export function changedPaths(git: GitRunner, from: string, to: string): Promise<string[]> {
  return git.lines(["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", from, to]);
}

async function changesIn({ folders, start }: TurnTree, { clock, signal }: RunContext): Promise<TreeChange[]> {
  const late = new AbortController();
  const tooMuch = `The agent left more behind than can be looked through in ${TIME_LIMIT_MS / 1000} s.`;
  const cancelLimit = clock.wakeAt(clock.now() + TIME_LIMIT_MS, () =>
    late.abort(new TurnFailedError(tooMuch)),
  );
  try {
    return await scanTree(folders.tree, start, AbortSignal.any([signal, late.signal]));
  } finally {
    cancelLimit();
  }
}

async function commitDocs(
  { start: { snapshot }, commit: parent, folders: { tree, scratch } }: TurnTree,
  changes: readonly TreeChange[],
  summary: string | null,
  turn: RunnerTurn,
  context: RunContext,
): Promise<CheckedWork> {
  const { mirror, redact, secrets } = context;
  const { docs, portableNames } = turn.project;
  const isDoc = createIsDoc(docs);
  const giveWay = createGiveWay();
  const added: string[] = [];
  for (const { path, kind } of changes) {
    await giveWay();
    if (kind === "added" && isDoc(path)) added.push(path);
  }
  const ignoreRules = [...snapshot.values()].filter(
    ({ path, mode }) => /(?:^|\/)\.gitignore$/.test(path) && mode.startsWith("100") && isSafePath(path),
  );
  const ignored = await mirror.use((git) => ignoredPaths(git, ignoreRules, added, join(scratch, "ignore")));
  const isRefused = (path: string) => ignored.has(path) || (portableNames && !isPortable(path));
  const selection = await selectChanges(changes, snapshot.keys(), isDoc, isRefused);
  const leftOut = boundedPaths(selection.leftOut, redact);
  const { committed } = selection;
  if (committed.length === 0) return { commit: null, files: 0, leftOut };

  const words = await commitWords(turn, context, summary);
  const copies = await copyChanges(tree, committed, secrets, join(scratch, "copies"));
  const commit = await mirror.use(async (git) => {
    const oids = await storeFiles(git, [...copies.values()]);
    const lines = new Map([...snapshot].map(([path, { raw }]) => [path, raw]));
    for (const { path, kind } of committed) if (kind === "deleted") lines.delete(path);
    for (const [at, path] of [...copies.keys()].entries()) {
      // Modes stay as they are. New files are regular files.
      const mode = snapshot.get(path)?.mode === "100755" ? "100755" : "100644";
      lines.set(path, indexLine(mode, oids[at] ?? "", path));
    }
    const index = join(scratch, "index");
    await writeIndex(git, index, lines.values());
    const allowed = new Set(committed.map(({ path }) => path));
    return makeCommit(git, { index, parent, allowed, ...words });
  });
  return { commit, files: committed.length, leftOut };
}
