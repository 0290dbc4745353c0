import { createHash } from "node:crypto";
import type { GitRunner } from "./git/git.ts";
import type { HostedPullRequest } from "../code-host/github-code-host.ts";
import type { TurnNote } from "./publish/turn-note.ts";

/** The last lines of a commit's message identify the job and the turn with these. */
export const JOB_TRAILER = "Docs-Agent-Job";
export const TURN_TRAILER = "Docs-Agent-Turn";
/** How far back on a branch we look for turns' commits. */
const MAX_COMMITS = 200;

/** Identifies a turn of a job by its number and what was asked. */
export function turnKeyOf({ prompt, number }: { prompt: string; number: number }): string {
  const asked = createHash("sha256").update(prompt).digest("hex").slice(0, 16);
  return `${number}-${asked}`;
}

/** The turn's commit, as an earlier attempt pushed it. */
export type EarlierPush = {
  commit: string;
  /** The branch's newest commit now. People may have added commits, or removed the branch. */
  tip: string | null;
  /** True if the base branch contains this commit itself. */
  isInBase: boolean;
  note: TurnNote | null;
};

export type EarlierPushInput = {
  git: GitRunner;
  jobId: string;
  turnKey: string;
  /** The newest commits of the base branch and of the job's branch. */
  base: string;
  tip: string | null;
  /** The note of the job's last turn that was pushed. */
  note: TurnNote | null;
  /** The pull requests of the job's branch, requested when they are needed. */
  findPulls: () => Promise<readonly HostedPullRequest[]>;
};

/**
 * Finds out if an earlier attempt has pushed this turn, whatever people did with the branch since
 * then: merged it in any of the three ways, added to it, or removed it. Null if it hasn't, or
 * nothing of it is left.
 */
export async function findEarlierPush(input: EarlierPushInput): Promise<EarlierPush | null> {
  const { git, jobId, turnKey, base, tip, findPulls } = input;
  const note = input.note?.turnKey === turnKey ? input.note : null;
  // People may have added commits to the branch since, and may have merged it.
  const commits = tip === null ? [] : await turnCommits(git, jobId, tip);
  const onBranch = commits.find(({ key }) => key === turnKey)?.commit;
  const commit = onBranch ?? note?.commit;
  if (commit === undefined) return null;
  // Standard output is empty if they have nothing in common (1) or there is no such commit (128).
  const isInBase = (await git.text(["merge-base", commit, base], { okCodes: [0, 1, 128] })) === commit;
  const push: EarlierPush = { commit, tip, isInBase, note: note?.commit === commit ? note : null };
  if (onBranch !== undefined || isInBase) return push;
  // Neither branch contains it. It was merged as a different commit and its branch removed, or it
  // was never pushed.
  const pulls = await findPulls();
  return pulls.some((pull) => holdsPush(pull, push)) ? push : null;
}

/**
 * True if a pull request, open or not, can only be the one that this push led to or was added to.
 */
export function holdsPush(
  { number, headSha, state }: HostedPullRequest,
  { commit, tip, isInBase, note }: EarlierPush,
): boolean {
  if (headSha === commit) return true;
  if (note === null) return isInBase && state === "merged";
  if (number > (note.newestPull ?? 0)) return true;
  return number === note.openPull && note.isPushed && (isInBase || tip === null);
}

/**
 * The commits of a job's turns in a range, or up to a commit, newest first. They are recognized by
 * their trailers.
 */
export async function turnCommits(git: GitRunner, jobId: string, range: string) {
  const trailer = (name: string) => `%(trailers:key=${name},valueonly,separator=%x2C)`;
  const format = `--format=%H %x20${trailer(JOB_TRAILER)} ${trailer(TURN_TRAILER)}`;
  const log = await git.lines(["log", "-z", `--max-count=${MAX_COMMITS}`, format, range, "--"]);
  return log.flatMap((line) => {
    const [commit = "", job, key = ""] = line.split(/\s+/);
    return job === jobId ? [{ commit, key }] : [];
  });
}
