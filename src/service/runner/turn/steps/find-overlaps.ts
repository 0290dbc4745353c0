import { SHOWN_CHARS } from "../../../../shared/contract/reading.ts";
import { redactedLine } from "../../../base/printable-text.ts";
import { operatorText } from "../../../base/run-error.ts";
import { pagesBetween } from "../../publish/whole-change.ts";
import { patchOf } from "../../workspace/git/changed-pages.ts";
import type { OpenPull } from "../../runner.ts";
import type { RunnerTurn, TurnContext } from "../../turn-context.ts";

/** Another open pull request of the project's that changes the same lines, and on which pages. */
type Overlap = { url: string; note: string };

/** The most pull requests that a change is compared with, and pages of each. */
const PULLS_MAX = 20;
const PAGES_MAX = 50;
const NAMED_PAGES = 3;
const PATCH_MAX_BYTES = 1024 * 1024;

/**
 * Finds the project's other open pull requests that change the same lines as `commit`. What can't
 * be read is left out.
 */
export async function findOverlaps(
  { openPulls = [] }: Pick<RunnerTurn, "openPulls">,
  context: TurnContext,
  commit: string,
  jobId: string,
): Promise<Overlap[]> {
  const { mirror, logger, redact } = context;
  const found: Overlap[] = [];
  for (const pull of openPulls.slice(0, PULLS_MAX)) {
    try {
      const paths = await mirror.use(() => sameLines(context, { commit, jobId, head: pull.headSha }));
      if (paths.length === 0) continue;
      const shown = paths.slice(0, NAMED_PAGES).map((path) => redactedLine(redact, path, SHOWN_CHARS.line));
      const more = paths.length > NAMED_PAGES ? ` and ${paths.length - NAMED_PAGES} more` : "";
      found.push({ url: pull.url, note: `Overlaps ${nameOf(pull)} (${shown.join(", ")}${more}).` });
    } catch (error) {
      // The pull request is there. Nobody should wait for it because of another one.
      if (context.signal.aborted) throw error;
      logger.warn({ problem: operatorText(error) }, "a pull request can't be compared");
    }
  }
  return found;
}

/** The pages on which two branches change the same lines. */
async function sameLines(
  { mirror, apart }: TurnContext,
  { commit, jobId, head }: { commit: string; jobId: string; head: string },
): Promise<string[]> {
  if (!(await mirror.has(head))) return [];
  const { git } = mirror;
  const { base } = await mirror.tips(jobId);
  const parted = [await mirror.mergeBase(base, commit), await mirror.mergeBase(base, head)];
  const common = await mirror.mergeBase(commit, head);
  const [own, others] = parted;
  if (typeof own !== "string" || typeof others !== "string" || common === null) return [];
  const theirs = new Set((await pagesBetween(git, others, head)).map(({ path }) => path));
  const shared = (await pagesBetween(git, own, commit))
    .map(({ path }) => path)
    .filter((path) => theirs.has(path));
  const same: string[] = [];
  for (const path of shared.slice(0, PAGES_MAX)) {
    const patch = async (to: string) =>
      (await patchOf(git, { from: common, to, path })).subarray(0, PATCH_MAX_BYTES);
    const patches = { one: await patch(commit), other: await patch(head) };
    if (await apart.read("touchSameLines", patches)) same.push(path);
  }
  return same;
}

/** `owner/repository#1`, or the number alone if the address doesn't say it. */
function nameOf({ url, number }: OpenPull): string {
  const [, repository = ""] = /^https?:\/\/[^/]+\/([\w.-]{1,100}\/[\w.-]{1,100})\/pull\/\d+$/.exec(url) ?? [];
  return `${repository}#${number}`;
}
