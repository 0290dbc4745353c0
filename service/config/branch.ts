/** The only branches that the service writes to begin with this. */
export const JOB_BRANCH_PREFIX = "docs-agent/";

const JOB_ID = /^[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.|lock$|$)){0,99}$/;
const MAX_LENGTH = 200;

/**
 * Whether git takes it as a branch's name (`git check-ref-format --branch`), and no command takes
 * it as an option.
 */
function isBranchName(name: string): boolean {
  if (name === "" || name === "@" || name === "HEAD" || name.length > MAX_LENGTH) return false;
  if (name.startsWith("-") || name.endsWith(".") || name.includes("..") || name.includes("@{")) return false;
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u0020\u007f~^:?*[\\]/.test(name)) return false;
  return name.split("/").every((part) => part !== "" && !part.startsWith(".") && !part.endsWith(".lock"));
}

/**
 * Whether pull requests can go to the branch: any but a job's own, and the one beside which git
 * takes none of these (`docs-agent`).
 */
export function isBaseBranch(name: string): boolean {
  return isBranchName(name) && !`${name}/`.startsWith(JOB_BRANCH_PREFIX);
}

/** True if the id can name a folder and a branch. */
export function isJobId(id: string): boolean {
  return JOB_ID.test(id);
}

/** The branch that a job works on. The id is one by {@link isJobId}. */
export function jobBranch(jobId: string): string {
  return `${JOB_BRANCH_PREFIX}${jobId}`;
}
