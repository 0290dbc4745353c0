import { faultText, TurnFailedError } from "../../../base/run-error.ts";
import { runsCommand } from "../../../config/check-settings.ts";
import type { RunnerTurn, TurnContext } from "../../turn-context.ts";
import { type ChangedPath, isReadAsText } from "../../workspace/git/changed-pages.ts";
import { readFiles } from "../../workspace/git/objects.ts";
import type { Judged } from "../checks/judge-runs.ts";

/** Further pages aren't read. With what they were before, they are what a reader takes. */
const MAX_BYTES = 32 * 1024 ** 2;

/**
 * Looks for what no change of documentation may bring. Resolves to null if there is no page among
 * the changed files. Rejects if aborted, and with a `GitError` if the files can't be read.
 */
export async function checkHygiene(
  turn: RunnerTurn,
  { mirror, apart, signal, logger, redact }: TurnContext,
  { base, commit, changed }: { base: string; commit: string; changed: readonly ChangedPath[] },
): Promise<Pick<Judged, "result" | "lines" | "count"> | null> {
  const moves = changed.filter(({ before, after }) => isReadAsText(after ?? before ?? ""));
  if (moves.length === 0) return null;
  const pages = await mirror.use(async (git) => {
    const now = await readFiles(
      git,
      commit,
      moves.flatMap(({ after }) => after ?? []),
    );
    const was = await readFiles(
      git,
      base,
      moves.flatMap(({ before }) => before ?? []),
    );
    let bytes = 0;
    return moves.flatMap(({ before: from, after: to }) => {
      const after = to === null ? null : now.get(to);
      const before = from === null ? null : was.get(from);
      bytes += (after?.length ?? 0) + (before?.length ?? 0);
      if (after === undefined || before === undefined || bytes > MAX_BYTES) return [];
      return [{ path: to ?? from ?? "", before, after }];
    });
  });
  if (pages.length < moves.length) logger.warn({ pages: pages.length }, "hygiene reads a part of the pages");
  const { prompt, words, earlierTurns, project } = turn;
  const off = project.verify.flatMap((check) => (runsCommand(check) ? [] : check.off));
  try {
    const asked = { prompt, words, earlierTurns };
    const found = await apart.read("readHygiene", { pages, asked, off });
    return { ...found, result: found.count === 0 ? "passed" : "failed" };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof TurnFailedError)) throw error;
    logger.warn({ problem: redact(faultText(error)) }, "hygiene can't be checked");
    return { result: "not-checked", lines: ["The changed pages take too long to read."], count: 1 };
  }
}
