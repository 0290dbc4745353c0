import { JOB_TRAILER, TURN_TRAILER, turnKeyOf } from "./earlier-push.ts";

type Merge = {
  jobId: string;
  number: number;
  prompt: string;
  baseBranch: string;
  branch: string;
  /** Who signs the commit off, as `name <email>`, or null. */
  signedOffBy: string | null;
};

/**
 * The message of the commit that merges the base branch, in git's own words. Its last lines name
 * the job and the turn, as in the message of any turn's commit.
 */
export function mergeMessageOf({ baseBranch, branch, signedOffBy, ...turn }: Merge): string {
  const signOff = signedOffBy === null ? "" : `Signed-off-by: ${signedOffBy}\n`;
  const trailers = `${JOB_TRAILER}: ${turn.jobId}\n${TURN_TRAILER}: ${turnKeyOf(turn)}\n${signOff}`;
  return `Merge branch '${baseBranch}' into ${branch}\n\n${trailers}`;
}
