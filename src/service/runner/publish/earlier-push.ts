import { createHash } from "node:crypto";
import type { GitRunner } from "../workspace/git/git.ts";
import type { Mirror } from "../workspace/git/mirror.ts";
import type { HostedPullRequest } from "../../pulls/code-host/github-code-host.ts";
import type { TurnNote } from "./turn-note.ts";

/** The last lines of a commit's message identify the job and the turn with these. */
export const JOB_TRAILER = "Docs-Agent-Job";
export const TURN_TRAILER = "Docs-Agent-Turn";
/** How far back on a branch we look for turns' commits. */
const MAX_COMMITS = 200;
/** Whoever writes a commit's message decides how long its trailers are. Ours are shorter. */
const MAX_LINE_CHARS = 1000;

/** Identifies a turn of a job by its number and what was asked. */
export function turnKeyOf({ prompt, number }: { prompt: string; number: number }): string {
  const asked = createHash("sha256").update(prompt).digest("hex").slice(0, 16);
  return `${number}-${asked}`;
}

/** The turn's number in what identifies it. */
export function numberIn(turnKey: string): number {
  return Number(turnKey.split("-")[0]);
}

/** The turn's commit, as this attempt or an earlier one pushed it. */
export type Push = {
  commit: string;
  turnKey: string;
  /** The branch's newest commit now. People may have added commits, or removed the branch. */
  tip: string | null;
  /** True if the base branch contains this commit itself. */
  isInBase: boolean;
  note: TurnNote | null;
};

export type FindPushInput = {
  /** In use by the caller. */
  mirror: Mirror;
  jobId: string;
  turnKey: string;
  /** The newest commits of the base branch and of the job's branch. */
  base: string;
  tip: string | null;
  /** The note of the job's last turn that was pushed. */
  note: TurnNote | null;
  /** The job's own pull requests, requested when they are needed. */
  findOwn: () => Promise<readonly HostedPullRequest[]>;
};

/**
 * Finds out if an earlier attempt has pushed this turn, whatever people did with the branch since
 * then: merged it in any of the three ways, rebased it, added to it, or removed it. Null if it
 * hasn't, or nothing of it is left.
 */
export async function findEarlierPush(input: FindPushInput): Promise<Push | null> {
  const { mirror, jobId, turnKey, base, tip, findOwn } = input;
  const note = input.note?.turnKey === turnKey ? input.note : null;
  // People may have added commits to the branch since, and may have merged it.
  const onBranch = tip === null ? undefined : await turnCommit(mirror, { jobId, turnKey }, { base, tip });
  const commit = onBranch ?? note?.commit;
  if (commit === undefined) return null;
  const isInBase = await isIn(mirror, base, commit);
  const push: Push = { commit, turnKey, tip, isInBase, note };
  if (onBranch !== undefined || isInBase) return push;
  // Neither branch contains it. It was merged as a different commit and its branch removed, or it
  // was never pushed.
  for (const pull of await findOwn()) if (await holdsPush(mirror, jobId, pull, push)) return push;
  return null;
}

/**
 * True if a pull request, open or not, contains what was pushed. If its commits can't be had
 * anymore, it may also be the only one that the push can have led to, or have been added to. The
 * caller has the mirror in use.
 */
export async function holdsPush(
  mirror: Mirror,
  jobId: string,
  { number, headSha, state }: HostedPullRequest,
  { commit, turnKey, tip, isInBase, note }: Push,
): Promise<boolean> {
  if (headSha === commit) return true;
  const isNewer = note !== null && number > (note.newestPull ?? 0);
  const wasOpen = note !== null && number === note.openPull;
  // It had ended before the push.
  if (note !== null && !isNewer && !wasOpen) return false;
  if (await mirror.has(headSha)) {
    if (await isIn(mirror, headSha, commit)) return true;
    const { base } = await mirror.tips(jobId);
    return (await turnCommit(mirror, { jobId, turnKey }, { base, tip: headSha })) !== undefined;
  }
  if (note === null) return isInBase && state === "merged";
  return note.isPushed && (isNewer || isInBase || tip === null);
}

/** True if this history has the commit. */
export async function isIn(mirror: Mirror, tip: string, commit: string): Promise<boolean> {
  return (await mirror.mergeBase(commit, tip)) === commit;
}

/** The turn's commit in the history of `tip`. Whoever rebases it keeps its message. */
export async function turnCommit(
  mirror: Mirror,
  { jobId, turnKey }: { jobId: string; turnKey: string },
  { base, tip }: { base: string; tip: string },
): Promise<string | undefined> {
  // So that all commits of the first range are here.
  await mirror.mergeBase(base, tip);
  // The base branch may have brought more commits than we look at, or may contain the turn's.
  for (const range of [`${base}..${tip}`, tip]) {
    const found = (await turnCommits(mirror.git, jobId, range)).find(({ key }) => key === turnKey);
    if (found !== undefined) return found.commit;
  }
  return undefined;
}

/**
 * The commits of a job's turns in a range, or up to a commit, newest first. They are recognized by
 * their trailers.
 */
export async function turnCommits(git: GitRunner, jobId: string, ...range: string[]) {
  const trailer = (name: string) => `%(trailers:key=${name},valueonly,separator=%x2C)`;
  const format = `--format=%H %x20${trailer(JOB_TRAILER)} ${trailer(TURN_TRAILER)}`;
  const log = await git.lines(["log", "-z", `--max-count=${MAX_COMMITS}`, format, ...range, "--"]);
  return log.flatMap((line) => {
    const [commit = "", job, key = ""] = line.slice(0, MAX_LINE_CHARS).split(/\s+/);
    return job === jobId ? [{ commit, key }] : [];
  });
}
