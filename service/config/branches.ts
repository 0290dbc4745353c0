/** The service only writes to branches that begin with this. */
export const JOB_BRANCH_PREFIX = "docs-agent/";

const JOB_ID = /^[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.|lock$|$)){0,99}$/;
const MAX_LENGTH = 200;

/**
 * True if git accepts this as a branch's name (`git check-ref-format --branch`) and no command
 * takes it for an option.
 */
function isBranchName(name: string): boolean {
  if (name === "" || name === "@" || name === "HEAD" || name.length > MAX_LENGTH) return false;
  if (name.startsWith("-") || name.endsWith(".") || name.includes("..") || name.includes("@{")) return false;
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u0020\u007f~^:?*[\\]/.test(name)) return false;
  return name.split("/").every((part) => part !== "" && !part.startsWith(".") && !part.endsWith(".lock"));
}

/**
 * True if pull requests can go to this branch. A job's own branch can't be a base. Neither can
 * `docs-agent`, because git then allows no branches below it.
 */
export function isBaseBranch(name: string): boolean {
  return isBranchName(name) && !`${name}/`.startsWith(JOB_BRANCH_PREFIX);
}

/** True if the id can be part of a folder's and a branch's name. */
export function isJobId(id: string): boolean {
  return JOB_ID.test(id);
}

/** The branch of a job. The id must satisfy {@link isJobId}. */
export function jobBranch(jobId: string): string {
  return `${JOB_BRANCH_PREFIX}${jobId}`;
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
