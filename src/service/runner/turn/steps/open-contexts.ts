import type { GitRunner } from "../../workspace/git/git.ts";
import { readSnapshot, sizesOf } from "../../workspace/git/objects.ts";
import { operatorText, TurnFailedError } from "../../../base/run-error.ts";
import { createIsShown } from "../../workspace/tree/select-changes.ts";
import type { ContextRepository, TurnContext, RunnerTurn } from "../../turn-context.ts";
import { openTree, type TurnTree } from "./open-tree.ts";

const MAX_BYTES = 1024 ** 3;

/**
 * Updates the project's context repositories and puts their files into folders, which stay until
 * this is disposed of. Rejects only if aborted. A repository that can't be read is left out.
 */
export async function openContexts({ jobId }: RunnerTurn, context: TurnContext) {
  const { contextRepositories, signal, logger, redact } = context;
  if (contextRepositories.length > 0) context.onProgress("reading the context repositories");
  using trees = new DisposableStack();
  const opened = await Promise.all(
    contextRepositories.map(async (repository) => {
      const { name } = repository;
      try {
        const tree = trees.use(await openOne(repository, `${jobId}.context-${name}`, context));
        return { ...repository, commit: tree.commit, folder: tree.folders.tree };
      } catch (error) {
        const problem = redact(operatorText(error));
        logger.warn(
          { repository: name, problem },
          "a context repository can't be read: the turn goes on without it",
        );
        return `The agent worked without the context repository ${name}, which couldn't be read.`;
      }
    }),
  );
  signal.throwIfAborted();
  const contexts = opened.filter((each) => typeof each !== "string");
  const notes = opened.filter((each) => typeof each === "string");
  const held = trees.move();
  return {
    contexts,
    /** What the turn's result says about them. */
    read: { context: contexts.map(({ name, commit }) => ({ name, commit })), notes },
    [Symbol.dispose]: () => held.dispose(),
  };
}

async function openOne(
  { name, ref, paths, mirror }: ContextRepository,
  place: string,
  context: TurnContext,
): Promise<TurnTree> {
  const isWanted = createIsShown(paths);
  const tell = (far: string) => context.report({ step: `Reading the context repository ${name}: ${far}` });
  const commit = await mirror.fetchCommit(ref, tell);
  await mirror.use((git) => assertSize(git, commit, isWanted));
  return openTree({ ...context, mirror }, commit, place, isWanted);
}

async function assertSize(
  git: GitRunner,
  commit: string,
  isWanted: (path: string) => boolean,
): Promise<void> {
  const files = [...(await readSnapshot(git, commit)).values()].filter(
    ({ mode, path }) => mode !== "160000" && isWanted(path),
  );
  const sizes = await sizesOf(
    git,
    files.map(({ oid }) => oid),
  );
  const bytes = files.reduce((sum, { oid }) => sum + (sizes.get(oid) ?? 0), 0);
  if (bytes <= MAX_BYTES) return;
  throw new TurnFailedError("The files have more than 1 GB. Narrow them down by paths.");
}
