import { prepare } from "../git/mirror.ts";
import { pushJobBranch } from "../git/push.ts";
import { writeTurnNote } from "../publish/turn-note.ts";
import type { RunContext } from "../run-context.ts";
import type { RunnerTurn } from "../runner-turn.ts";
import { turnKeyOf } from "../turn-key.ts";
import type { CheckedWork, PushedWork, TurnStart } from "./work.ts";

type Commit = Extract<CheckedWork, { commit: string }>;

/** Pushes the turn's commit. Notes that before and after: whatever happens to the branch later, this turn runs no second agent. */
export async function pushWork(
  turn: RunnerTurn,
  { git, mirrorLock, signal, redact, folders, onProgress }: RunContext,
  { gitDir, remote, job, pulls }: TurnStart,
  { commit, files, leftOut, summary }: Commit & { summary: string | null },
): Promise<PushedWork> {
  const { jobId } = turn;
  const note = {
    version: 1 as const,
    commit,
    summary: summary === null ? null : redact(summary),
    leftOut,
    turnKey: turnKeyOf(turn),
    openPull: pulls.find(({ state }) => state === "open")?.number ?? null,
    newestPull: pulls.length === 0 ? null : Math.max(...pulls.map(({ number }) => number)),
  };
  await writeTurnNote(folders.notes, jobId, { ...note, isPushed: false });
  onProgress(`pushing ${files} changed ${files === 1 ? "file" : "files"}`);
  await mirrorLock.run(gitDir, signal, async () => {
    await prepare(git, gitDir, signal);
    await pushJobBranch({ git, gitDir, remote, jobId, commit, expected: job, signal });
  });
  await writeTurnNote(folders.notes, jobId, { ...note, isPushed: true });
  return { commit, summary, leftOut, earlier: null };
}
