import type { SafeGit } from "./git/git.ts";
import { isContained, pushedTurn } from "./git/pushed-turn.ts";
import type { HostedPullRequest } from "./publish/code-host.ts";
import type { TurnNote } from "./publish/turn-note.ts";

/** The turn's commit as an earlier attempt pushed it. */
export type EarlierPush = {
  commit: string;
  /** What the branch ends in now: people may have added commits, or removed the branch. */
  tip: string | null;
  /** Whether the base branch has the very commit. */
  isInBase: boolean;
  note: TurnNote | null;
};

export type EarlierPushInput = {
  git: SafeGit;
  gitDir: string;
  jobId: string;
  turnKey: string;
  /** The heads of the base branch and of the job's. */
  base: string;
  tip: string | null;
  note: TurnNote | null;
  /** The pull requests of the job's branch, asked for when needed. */
  findPulls: () => Promise<readonly HostedPullRequest[]>;
  signal: AbortSignal;
};

/**
 * Finds out whether an earlier attempt has pushed this turn, whatever people did with the branch since: merged it in any of the three
 * ways, added to it, removed it. Null: it hasn't, or all of it is gone.
 */
export async function findEarlierPush(input: EarlierPushInput): Promise<EarlierPush | null> {
  const { git, gitDir, turnKey, base, tip, signal } = input;
  const note = input.note?.turnKey === turnKey ? input.note : null;
  const onBranch = tip === null ? null : await pushedTurn(git, gitDir, { ...input, tip }, signal);
  const commit = onBranch ?? note?.commit;
  if (commit === undefined) return null;
  const isInBase = await isContained(git, gitDir, commit, base, signal);
  const push: EarlierPush = { commit, tip, isInBase, note: note?.commit === commit ? note : null };
  if (onBranch !== null || isInBase) return push;
  // Neither branch has it: merged as another commit, and removed. Or never pushed.
  const pulls = await input.findPulls();
  return pulls.some((pull) => pull.headSha === commit || holdsPush(pull, push)) ? push : null;
}

/** Whether a pull request, open or not, can only be the one that this push led to or was added to. */
export function holdsPush(
  { number, headSha, state }: HostedPullRequest,
  { commit, tip, isInBase, note }: EarlierPush,
): boolean {
  if (headSha === commit) return true;
  if (note === null) return isInBase && state === "merged";
  if (number > (note.newestPull ?? 0)) return true;
  return number === note.openPull && note.isPushed && (isInBase || tip === null);
}
