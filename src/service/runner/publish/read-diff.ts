import { DIFF_LIMITS, type JobDiff } from "../../../shared/contract/diff.ts";
import { SHOWN_CHARS } from "../../../shared/contract/reading.ts";
import { redactedLine } from "../../base/printable-text.ts";
import { turnCommits } from "./earlier-push.ts";
import type { Mirror } from "../workspace/git/mirror.ts";
import { readTurnNote } from "./turn-note.ts";
import { pagesBetween } from "./whole-change.ts";
import type { TurnContext } from "../turn-context.ts";

/** As in {@link DiffInput}. */
type DiffOf = { jobId: string; baseBranch: string; head: string | null };

/** Of larger files, only the names are shown. */
const MAX_FILE = "512k";
/** More than a diff with whole lines can have. */
const MAX_READ_BYTES = 4 * 1024 * 1024;
const COMMIT = /^[0-9a-f]{40,64}$/;
/** The place of each change is its nearest heading. One `#` may be a comment in a code block. */
const HEADINGS = "diff.default.xfuncname=^ {0,3}#{2,6}[ \t].*";
/** Nothing that the repository's attributes name is run. */
const OPTIONS = ["-r", "-p", "--no-color", "--no-renames", "--no-ext-diff", "--no-textconv"];

/**
 * Reads what a job's branch changes. If the branch is gone, `head` is the commit that it ended
 * with. Null if there is none, or it can't be found anymore.
 */
export function readDiff(
  { mirror, notes, redact, apart }: Pick<TurnContext, "mirror" | "notes" | "redact" | "apart">,
  { jobId, baseBranch, head }: DiffOf,
): Promise<JobDiff | null> {
  return mirror.fetch({ baseBranch, jobId }, async (git) => {
    const { base: baseTip, job } = await mirror.tips(jobId);
    const note = job === null ? await readTurnNote(notes) : null;
    const candidates = job === null ? [head, note?.isPushed ? note.commit : null] : [job];
    let commit: string | null = null;
    for (const each of candidates) {
      if (each !== null && COMMIT.test(each) && (await mirror.has(each))) commit ??= each;
    }
    if (commit === null) return null;
    const base = await baseOf(mirror, { baseTip, commit, jobId });
    if (base === null) return null;
    const pages = await pagesBetween(git, base, commit);
    const config = [`core.bigFileThreshold=${MAX_FILE}`, "core.quotePath=false", HEADINGS];
    const settings = config.flatMap((setting) => ["-c", setting]);
    const written = await git.run([...settings, "diff-tree", ...OPTIONS, base, commit, "--"]);
    const { diff, isCut } = await apart.read("shownDiff", written.subarray(0, MAX_READ_BYTES));
    return {
      files: pages.slice(0, DIFF_LIMITS.files).map((page) => ({
        ...page,
        path: redactedLine(redact, page.path, SHOWN_CHARS.line),
      })),
      fileCount: pages.length,
      diff,
      isCut: isCut || written.length > MAX_READ_BYTES || pages.length > DIFF_LIMITS.files,
    };
  });
}

/** The commit to compare the branch with, whether or not it is merged. Null if there is none. */
async function baseOf(
  mirror: Mirror,
  { baseTip, commit, jobId }: { baseTip: string; commit: string; jobId: string },
): Promise<string | null> {
  const { git } = mirror;
  // If the base branch contains the commit, the merge shows what it changed.
  const options = ["--first-parent", "--ancestry-path", "--reverse"];
  // Everything that the base branch has beyond the commit has to be here.
  await mirror.mergeBase(baseTip, commit);
  const merges = await git.text(["rev-list", ...options, `${commit}..${baseTip}`]);
  const [merge] = merges.split("\n");
  const into = merge ? await git.text(["rev-parse", `${merge}^1`]) : baseTip;
  const base = await mirror.mergeBase(into, commit);
  if (base !== commit) return base;
  // If it was merged without a merge commit, the job's commits show where it began.
  const first = (await turnCommits(git, jobId, commit)).at(-1)?.commit ?? commit;
  return (await git.text(["rev-parse", "--quiet", "--verify", `${first}^1`], { okCodes: [0, 1] })) || null;
}
