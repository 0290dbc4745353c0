import { counted } from "../../../../shared/text/text.ts";
import { operatorText, TurnFailedError } from "../../../base/run-error.ts";
import { runsCommand } from "../../../config/check-settings.ts";
import type { RunnerTurn, TurnContext } from "../../turn-context.ts";
import { type ChangedPath, isReadAsText } from "../../workspace/git/changed-pages.ts";
import type { TextChange } from "../../hygiene/hygiene.ts";
import type { GitRunner } from "../../workspace/git/git.ts";
import { readFiles } from "../../workspace/git/objects.ts";
import type { Judged } from "../checks/judge-runs.ts";

/** Further pages aren't read. With what they were before, they are what a reader takes. */
const MAX_BYTES = 32 * 1024 ** 2;

/**
 * Looks for what no change of documentation may bring. Resolves to null if there is no page among
 * the changed files, and to "not checked" if they can't be read, whatever the reason. Rejects only
 * if aborted.
 */
export async function checkHygiene(
  turn: RunnerTurn,
  context: TurnContext,
  { base, commit, changed }: { base: string; commit: string; changed: readonly ChangedPath[] },
): Promise<Told | null> {
  const { mirror, apart, signal, logger, redact } = context;
  const moves = changed.filter(({ before, after }) => isReadAsText(after ?? before ?? ""));
  if (moves.length === 0) return null;
  const { prompt, words, earlierTurns, project } = turn;
  const off = project.verify.flatMap((check) => (runsCommand(check) ? [] : check.off));
  try {
    const pages = await mirror.use((git) => readPages(git, { base, commit, moves }));
    const asked = { prompt, words, earlierTurns };
    const found = await apart.read("readHygiene", { pages, asked, off });
    if (found.count > 0) return { ...found, result: "failed" };
    const unread = moves.length - pages.length;
    if (unread === 0) return { ...found, result: "passed" };
    logger.warn({ unread }, "hygiene can't read all pages");
    return notChecked(`${counted(unread, "page")} can't be read: too large.`);
  } catch (error) {
    signal.throwIfAborted();
    logger.warn({ problem: redact(operatorText(error)) }, "hygiene can't be checked");
    return notChecked(error instanceof TurnFailedError ? error.message : "The changed pages can't be read.");
  }
}

type Told = Pick<Judged, "result" | "lines" | "count">;

function notChecked(why: string): Told {
  return { result: "not-checked", lines: [why], count: 1 };
}

/** The changed pages that aren't too large. */
async function readPages(
  git: GitRunner,
  { base, commit, moves }: { base: string; commit: string; moves: readonly ChangedPath[] },
): Promise<TextChange[]> {
  const paths = (side: "before" | "after") => moves.flatMap((move) => move[side] ?? []);
  const now = await readFiles(git, commit, paths("after"));
  const was = await readFiles(git, base, paths("before"));
  let bytes = 0;
  return moves.flatMap(({ before: from, after: to }) => {
    const after = to === null ? null : now.get(to);
    const before = from === null ? null : was.get(from);
    bytes += (after?.length ?? 0) + (before?.length ?? 0);
    if (after === undefined || before === undefined || bytes > MAX_BYTES) return [];
    return [{ path: to ?? from ?? "", before, after }];
  });
}
