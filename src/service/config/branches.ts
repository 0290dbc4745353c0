/** What the branches of jobs begin with, if the settings don't say. */
export const DEFAULT_BRANCH_PREFIX = "docs-agent/";
const MAX_PREFIX_LENGTH = 90;

const JOB_ID = /^[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.|lock$|$)){0,99}$/;
const MAX_LENGTH = 200;

/**
 * True if git accepts this as a branch's name (`git check-ref-format --branch`) and no command
 * takes it for an option.
 */
export function isGitBranch(name: string): boolean {
  if (name === "" || name === "@" || name === "HEAD" || name.length > MAX_LENGTH) return false;
  if (name.startsWith("-") || name.endsWith(".") || name.includes("..") || name.includes("@{")) return false;
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u0020\u007f~^:?*[\\]/.test(name)) return false;
  return name.split("/").every((part) => part !== "" && !part.startsWith(".") && !part.endsWith(".lock"));
}

/**
 * True if the branches of jobs can begin with this, whatever their ids. Hosts and git itself read
 * `refs/…` as a whole name.
 */
export function isBranchPrefix(prefix: string): boolean {
  const isShort = prefix !== "" && prefix.length <= MAX_PREFIX_LENGTH;
  return isShort && !prefix.startsWith("refs/") && isGitBranch(jobBranch(prefix, "job-0"));
}

/**
 * True if pull requests of jobs can go to this branch. The service writes only to branches that
 * begin with the prefix, so a base doesn't. Nor is it a folder of theirs, such as `docs-agent`.
 */
export function isBaseBranch(name: string, branchPrefix: string): boolean {
  return isGitBranch(name) && !name.startsWith(branchPrefix) && !branchPrefix.startsWith(`${name}/`);
}

/** True if the id can be part of a folder's and a branch's name. */
export function isJobId(id: string): boolean {
  return JOB_ID.test(id);
}

/** The branch of a job. The id must satisfy {@link isJobId}. */
export function jobBranch(branchPrefix: string, jobId: string): string {
  return `${branchPrefix}${jobId}`;
}

/** Why a job's branch can't be brought up to date, for people: it is. */
export function alreadyUpToDate(baseBranch: string): string {
  return `The branch already has everything from ${baseBranch}.`;
}

/** Patterns for `git ls-remote` that list every branch that may be in the way of this one. */
export function refsInTheWay(branch: string): string[] {
  return [...foldersOf(branch), `${branch}/*`].map((name) => `refs/heads/${name}`);
}

/**
 * The branch that leaves no room for this one, in what `git ls-remote` lists, or null. Git keeps
 * branches as files do in folders: `a` and `a/b` can't both be there.
 */
export function branchInTheWay(listed: string, branch: string): string | null {
  const names = listed.split("\n").flatMap((line) => /\trefs\/heads\/([^\n]+)$/.exec(line)?.[1] ?? []);
  const folders = new Set(foldersOf(branch));
  return names.find((name) => folders.has(name) || name.startsWith(`${branch}/`)) ?? null;
}

/** `a` and `a/b` for `a/b/c`. */
function foldersOf(branch: string): string[] {
  const parts = branch.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}
