import { join } from "node:path";
import {
  changedPaths,
  indexLine,
  makeCommit,
  readSnapshot,
  storeFiles,
  writeIndex,
} from "../../workspace/git/objects.ts";
import { createGiveWay } from "../../../base/give-way.ts";
import { readInside } from "../../workspace/confined-files.ts";
import { boundedPaths } from "../../publish/bounded-paths.ts";
import { isNoRoom, TurnFailedError } from "../../../base/run-error.ts";
import { createLeftBehind } from "../../workspace/tree/left-behind.ts";
import { leftOutNotes } from "../../workspace/tree/left-out-notes.ts";
import {
  filterOf,
  ignoredPaths,
  isLfsPointer,
  readAttributes,
  storedEndsOf,
} from "../../workspace/tree/path-rules.ts";
import {
  copyChanges,
  createIsDoc,
  type LeftOutFile,
  selectChanges,
  type WhyLeftOut,
} from "../../workspace/tree/select-changes.ts";
import { isPortable } from "../../workspace/tree/names.ts";
import { scanTree, type TreeChange } from "../../workspace/tree/scan-tree.ts";
import type { TurnContext, RunnerTurn } from "../../turn-context.ts";
import { commitWords } from "./commit-words.ts";
import { keepPages } from "./keep-pages.ts";
import type { TurnTree } from "./open-tree.ts";

/**
 * The part of a tree that is worth committing. `commit` is null if there is none. `files` is the
 * number of changed files. `notes` say why files are left out, if their place isn't the reason.
 */
export type CommittedWork = { commit: string | null; files: number; leftOut: string[]; notes: string[] };

const TIME_LIMIT_MS = 60_000;
/** Git LFS reads no more of a file to see whether it is a pointer. */
const MAX_POINTER_BYTES = 1024;

/**
 * Finds what the agent changed, and commits what belongs to the docs. Rejects with a
 * `TurnFailedError` if it is too much, in number, size or time, or there is no room for it.
 */
export async function commitWork(
  tree: TurnTree,
  summary: string | null,
  turn: RunnerTurn,
  context: TurnContext,
): Promise<CommittedWork> {
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
  work: CommittedWork & { commit: string },
  paths: ReadonlySet<string>,
  turn: RunnerTurn,
  context: TurnContext,
): Promise<CommittedWork> {
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

async function changesIn(
  { folders, start }: TurnTree,
  { clock, signal }: TurnContext,
): Promise<TreeChange[]> {
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
  turnTree: TurnTree,
  changes: readonly TreeChange[],
  summary: string | null,
  turn: RunnerTurn,
  context: TurnContext,
): Promise<CommittedWork> {
  const {
    start: { snapshot },
    commit: parent,
    folders: { tree, scratch },
  } = turnTree;
  const { mirror, redact, secrets } = context;
  const isDoc = createIsDoc(turn.project.docs);
  const rules = await readRules(turnTree, changes, isDoc, turn, context);
  const selection = await selectChanges(changes, snapshot.keys(), isDoc, rules.refusal);
  const copies = await copyChanges(tree, selection.committed, secrets, join(scratch, "copies"));
  const { damaged, same } = await keepPages(turnTree, selection.committed, copies, rules.storedEnds, context);
  const committed = selection.committed.filter(({ path }) => !damaged.has(path) && !same.has(path));
  const lost = [...damaged].map((path): LeftOutFile => ({ path, why: "encoding" }));
  const leftOut = [...selection.leftOut, ...lost];
  const paths = leftOut.map(({ path }) => path).toSorted();
  const told = { leftOut: boundedPaths(paths, redact), notes: leftOutNotes(leftOut, redact) };
  if (committed.length === 0) return { commit: null, files: 0, ...told };

  const words = await commitWords(turn, context, summary);
  const commit = await mirror.use(async (git) => {
    const files = committed.flatMap(({ path }) => {
      const copy = copies.get(path);
      return copy === undefined ? [] : [{ path, copy }];
    });
    const oids = await storeFiles(
      git,
      files.map(({ copy }) => copy),
    );
    const lines = new Map([...snapshot].map(([path, { raw }]) => [path, raw]));
    for (const { path, kind } of committed) if (kind === "deleted") lines.delete(path);
    for (const [at, { path }] of files.entries()) {
      // Modes stay as they are. New files are regular files.
      const mode = snapshot.get(path)?.mode === "100755" ? "100755" : "100644";
      lines.set(path, indexLine(mode, oids[at] ?? "", path));
    }
    const index = join(scratch, "index");
    await writeIndex(git, index, lines.values());
    const allowed = new Set(committed.map(({ path }) => path));
    return makeCommit(git, { index, parent, allowed, ...words });
  });
  return { commit, files: committed.length, ...told };
}

/** What the repository, as it was, says of the changed docs, and which it leaves out. */
async function readRules(
  { start: { snapshot }, folders: { tree, scratch } }: TurnTree,
  changes: readonly TreeChange[],
  isDoc: (path: string) => boolean,
  { project: { docs, portableNames }, words, prompt, earlierTurns }: RunnerTurn,
  { mirror }: TurnContext,
) {
  const giveWay = createGiveWay();
  const added: string[] = [];
  const written: string[] = [];
  for (const { path, kind } of changes) {
    await giveWay();
    if (kind === "added" && isDoc(path)) added.push(path);
    if (kind === "modified" && isDoc(path)) written.push(path);
  }
  const ignored = await mirror.use((git) => ignoredPaths(git, snapshot, added, join(scratch, "ignore")));
  const asked = [words ?? prompt, ...earlierTurns.map((turn) => turn.words ?? turn.prompt)];
  const leftBehind = createLeftBehind(docs, asked);
  const refused = new Map<string, WhyLeftOut>();
  for (const path of added) {
    await giveWay();
    const isOutside = ignored.has(path) || (portableNames && !isPortable(path));
    const why = isOutside ? "other" : leftBehind(path);
    if (why === null) written.push(path);
    else refused.set(path, why);
  }
  const attributes = await mirror.use((git) =>
    readAttributes(git, snapshot, written, join(scratch, "attributes")),
  );
  for (const [path, each] of attributes) {
    await giveWay();
    const filter = filterOf(each);
    if (filter === null || isLfsPointer(await readInside(tree, path, MAX_POINTER_BYTES))) continue;
    refused.set(path, filter === "lfs" ? "lfs" : "filter");
  }
  const refusal = (path: string) => refused.get(path) ?? null;
  return { refusal, storedEnds: (path: string) => storedEndsOf(attributes.get(path)) };
}
