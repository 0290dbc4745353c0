import { redactedLine } from "../../../base/printable-text.ts";
import { operatorText } from "../../../base/run-error.ts";
import type { Overlap } from "../../publish/overlaps-text.ts";
import { type ChangedPage, pagesBetween } from "../../publish/whole-change.ts";
import { patchOf } from "../../workspace/git/changed-pages.ts";
import type { OpenPull } from "../../runner.ts";
import type { RunnerTurn, TurnContext } from "../../turn-context.ts";

/** The most pages of a pull request that are compared line by line. */
const PAGES_MAX = 50;
const NAMED_PAGES = 3;
const PATH_CHARS = 80;
const PATCH_MAX_BYTES = 1024 * 1024;

/**
 * Finds the repository's other open pull requests that change the same pages as `commit`. What
 * can't be read is left out.
 */
export async function findOverlaps(
  { jobId, openPulls = [] }: Pick<RunnerTurn, "jobId" | "openPulls">,
  context: TurnContext,
  commit: string,
): Promise<Overlap[]> {
  const { redact } = context;
  const found: Overlap[] = [];
  if (openPulls.length === 0) return found;
  const base = await baseTip(context, jobId);
  if (base === null) return found;
  const changeOf = (headSha: string) => orSkip(context, () => changeOfPull(context, base, headSha));
  const own = await changeOf(commit);
  for (const pull of own === null ? [] : openPulls) {
    const theirs = new Set((await changeOf(pull.headSha))?.pages.map(({ path }) => path));
    const paths = own?.pages.map(({ path }) => path).filter((path) => theirs.has(path)) ?? [];
    if (paths.length === 0) continue;
    const heads = { one: commit, other: pull.headSha };
    const sameLines = (await orSkip(context, () => withSameLines(context, heads, paths))) ?? [];
    const isSameLines = sameLines.length > 0;
    const all = isSameLines ? sameLines : paths;
    const shown = all.slice(0, NAMED_PAGES).map((path) => redactedLine(redact, path, PATH_CHARS));
    const morePaths = all.length - shown.length;
    found.push({ url: pull.url, name: nameOf(pull), isSameLines, paths: shown, morePaths });
  }
  return found;
}

/**
 * What is read of another pull request, or null if that fails: nobody should wait for the turn's
 * own one because of it.
 */
export async function orSkip<T>({ signal, logger }: TurnContext, read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (signal.aborted) throw error;
    logger.warn({ problem: operatorText(error) }, "an open pull request can't be read");
    return null;
  }
}

/** The newest commit of the base branch, or null if it can't be read. */
export function baseTip(context: TurnContext, jobId: string): Promise<string | null> {
  const { mirror } = context;
  return orSkip(context, async () => (await mirror.use(() => mirror.tips(jobId))).base);
}

/**
 * What a branch with this commit changes, and since which commit of the base branch. Null if that
 * isn't known.
 */
export function changeOfPull(
  { mirror }: TurnContext,
  base: string,
  headSha: string,
): Promise<{ from: string; pages: ChangedPage[] } | null> {
  return mirror.use(async (git) => {
    if (!(await mirror.has(headSha))) return null;
    const from = await mirror.mergeBase(base, headSha);
    return from === null ? null : { from, pages: await pagesBetween(git, from, headSha) };
  });
}

/** Those of the pages whose same lines both branches change. */
async function withSameLines(
  { mirror, apart }: TurnContext,
  { one, other }: { one: string; other: string },
  paths: readonly string[],
): Promise<string[]> {
  return mirror.use(async (git) => {
    const from = await mirror.mergeBase(one, other);
    if (from === null) return [];
    const same: string[] = [];
    for (const path of paths.slice(0, PAGES_MAX)) {
      const patch = async (to: string) =>
        (await patchOf(git, { from, to, path })).subarray(0, PATCH_MAX_BYTES);
      const patches = { one: await patch(one), other: await patch(other) };
      if (await apart.read("touchSameLines", patches)) same.push(path);
    }
    return same;
  });
}

/** `owner/repository#1`, or the number alone if the address doesn't say it. */
export function nameOf({ url, number }: OpenPull): string {
  const [, repository = ""] = /^https?:\/\/[^/]+\/([\w.-]{1,100}\/[\w.-]{1,100})\/pull\/\d+$/.exec(url) ?? [];
  return `${repository}#${number}`;
}
