import { existsSync } from "node:fs";
import { lstat, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { GitRunner } from "./git.ts";

/** What git takes for a history without an end. */
const ALL = 0x7fff_ffff;
/**
 * How many commits deep the history of each branch is fetched. If that isn't enough to see where
 * two histories part, the next one is tried. The first is more than the commits in which turns are
 * looked for.
 */
const DEPTHS = [250, 1000, 4000, 16_000, ALL] as const;
/** Where git notes the commits at which a history was cut off. Absent in a complete repository. */
const CUTS = "shallow";
const DEPTH_NOTE = "docs-agent-depth";

/** How deep to fetch what is read of its files alone. */
export const ONE_COMMIT = 1;
/** How deep to fetch if a history is looked at. */
export const SOME_HISTORY = DEPTHS[0];

/** The commits at which the repository's history was cut off. */
export async function readCuts(gitDir: string): Promise<ReadonlySet<string>> {
  const text = await readFile(join(gitDir, CUTS), "utf8").catch(() => "");
  return new Set(text.split("\n").filter((line) => line !== ""));
}

/** How deep the repository's history was fetched, but not less than `first`. */
export async function readDepth(gitDir: string, first: number): Promise<number> {
  const noted = Number(await readFile(join(gitDir, DEPTH_NOTE), "utf8").catch(() => ""));
  return Number.isSafeInteger(noted) ? Math.min(Math.max(noted, first), ALL) : first;
}

export async function noteDepth(gitDir: string, depth: number): Promise<void> {
  await removeUnlessFile(join(gitDir, DEPTH_NOTE));
  await writeFile(join(gitDir, DEPTH_NOTE), String(depth), { mode: 0o600 });
}

/** The next depth to try. Undefined if all was asked for. */
export function deeperThan(depth: number): number | undefined {
  return DEPTHS.find((each) => each > depth);
}

/** True if nothing was cut off. Only means something once the repository has commits. */
export function isComplete(gitDir: string): boolean {
  return !existsSync(join(gitDir, CUTS));
}

/** Git would write through a link. */
export async function removeUnlessFile(path: string): Promise<void> {
  const stats = await lstat(path).catch(() => null);
  if (stats !== null && !stats.isFile()) await rm(path, { recursive: true, force: true });
}

/**
 * The commits at which two histories part, as far as they are here, the best first. Empty if they
 * have none in common, or one of the two isn't here.
 */
export async function partingCommits(git: GitRunner, one: string, other: string): Promise<string[]> {
  const found = await git.text(["merge-base", "--all", one, other], { okCodes: [0, 1, 128] });
  return found.split("\n").filter((line) => line !== "");
}

/**
 * True if the history that isn't here can't change where the two part: it is all older than that.
 */
export async function arePartingCommits(
  git: GitRunner,
  [one, other]: readonly [string, string],
  found: readonly string[],
  cuts: ReadonlySet<string>,
): Promise<boolean> {
  if (cuts.size === 0) return true;
  // Where a history was cut off, it seems to begin.
  const begins = await git.text(["rev-list", "--max-parents=0", one, other, "--not", ...found]);
  return !begins.split("\n").some((commit) => cuts.has(commit));
}

/** True if all of these commits are here. */
export async function areHere(git: GitRunner, commits: readonly string[]): Promise<boolean> {
  const stdin = commits.map((commit) => `${commit}\n`).join("");
  const found = await git.text(["cat-file", "--batch-check=%(objecttype)"], { stdin });
  return found.split("\n").every((type) => type === "commit");
}
