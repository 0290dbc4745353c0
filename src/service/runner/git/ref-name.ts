import { TurnFailedError } from "../run-error.ts";

/** The only branches that we write to. */
export const JOB_BRANCH_PREFIX = "docs-agent/";

const JOB_ID = /^[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.|lock$|$)){0,99}$/;
const MAX_LENGTH = 200;

/** Whether git takes it as a branch's name (`git check-ref-format --branch`), and no command takes it as an option. */
export function isBranchName(name: string): boolean {
  if (name === "" || name === "@" || name === "HEAD" || name.length > MAX_LENGTH) return false;
  if (name.startsWith("-") || name.endsWith(".") || name.includes("..") || name.includes("@{")) return false;
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u0020\u007f~^:?*[\\]/.test(name)) return false;
  return name.split("/").every((part) => part !== "" && !part.startsWith(".") && !part.endsWith(".lock"));
}

/** Throws unless the id can name a folder and a branch. */
export function assertJobId(jobId: string): void {
  if (!JOB_ID.test(jobId)) {
    throw new TurnFailedError(`The job id ${JSON.stringify(jobId.slice(0, 100))} cannot name a branch.`);
  }
}

/** Throws unless `branch` is the job's own. */
export function assertJobBranch(branch: string, jobId: string): void {
  if (branch !== `${JOB_BRANCH_PREFIX}${jobId}` || !isBranchName(branch)) {
    throw new TurnFailedError(`The branch ${JSON.stringify(branch.slice(0, 100))} is not the job's own.`);
  }
}

/** Throws unless `branch` can be a base branch. */
export function assertBaseBranch(branch: string): void {
  if (!isBranchName(branch) || branch.startsWith(JOB_BRANCH_PREFIX)) {
    throw new TurnFailedError(
      `The base branch ${JSON.stringify(branch.slice(0, 100))} is no branch's name. Correct the project's baseBranch.`,
    );
  }
}
