import { operatorText, TurnFailedError } from "../run-error.ts";
import type { ContextRead } from "../publish/turn-note.ts";
import type { OpenContext, RunContext, RunnerTurn } from "../turn.ts";

export type OpenContexts = Disposable & { contexts: OpenContext[]; read: ContextRead };

type Opened = { context: OpenContext; release: () => void } | { note: string };

/**
 * Brings the project's context repositories up to date and shows their files in folders that stay
 * until this is disposed of. Rejects only when aborted: one that can't be read is left out.
 */
export async function openContexts(turn: RunnerTurn, context: RunContext): Promise<OpenContexts> {
  const { signal } = context;
  const settings = turn.project.context;
  if (settings.length > 0) context.onProgress("reading the context repositories");
  const opened = await Promise.all(settings.map((each) => openOne(each, context)));
  const read = opened.filter((each) => "context" in each);
  const close = () => read.forEach(({ release }) => release());
  if (signal.aborted) close();
  signal.throwIfAborted();
  const contexts = read.map((each) => each.context);
  const notes = opened.flatMap((each) => ("note" in each ? [each.note] : []));
  return {
    contexts,
    read: {
      ...(contexts.length > 0 && { context: contexts.map(({ name, commit }) => ({ name, commit })) }),
      ...(notes.length > 0 && { notes }),
    },
    [Symbol.dispose]: close,
  };
}

async function openOne(
  { name, ref, paths }: RunnerTurn["project"]["context"][number],
  { contextMirrors, contextFolders, logger, redact }: RunContext,
): Promise<Opened> {
  const mirror = contextMirrors.get(name);
  try {
    if (mirror === undefined) throw new TurnFailedError("It has no mirror.");
    return await mirror.fetchCommit(ref, async (git, commit) => {
      const { folder, release } = await contextFolders.hold(git, commit, paths);
      return { context: { name, commit, folder, mirror }, release };
    });
  } catch (error) {
    logger.warn(
      { repository: name, problem: redact(operatorText(error)) },
      "a context repository can't be read: the turn goes on without it",
    );
    return { note: `The agent worked without the context repository ${name}, which couldn't be read.` };
  }
}
