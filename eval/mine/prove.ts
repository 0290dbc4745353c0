import { changedPaths, type Files } from "../files.ts";
import { EXPECTED, judge, type Judging } from "../judge.ts";
import { damaged, DAMAGES } from "../reach/damages.ts";
import { LAYOUTS, ONLY_INSIDE, varied, VARIANTS } from "../reach/variants.ts";
import type { Reason } from "./screen.ts";

/** So many kinds of damage may pass, because some are right by chance. */
const MAX_LAX = 2;
const MIN_VARIANTS = 3;

/** Why a mined task tells nothing, with what was found. Null if it tells right from wrong. */
export type Doubt = { reason: Reason; says: string } | null;

/**
 * Judges what is known of a mined task: the pages as they were, what was merged, what was merged
 * with kinds of damage that it must notice, and with changes of the layout that it must allow.
 */
export async function doubtOf(task: Judging & { name: string }): Promise<Doubt> {
  const { base, right, checks, name } = task;
  if (right === null) return { reason: "refused", says: "There is no reference." };
  const own = new Set(checks.map((check) => check.name));
  const before = (await failuresOf(task, base)).filter(({ check }) => own.has(check) && check !== EXPECTED);
  if (before.length === 0) return { reason: "unchanged", says: "No check of its own fails before." };
  const [refused] = await failuresOf(task, right);
  if (refused !== undefined) return { reason: "refused", says: `${refused.check}: ${refused.problem}` };
  const passing: string[] = [];
  for (const kind of Object.keys(DAMAGES)) {
    const result = damaged(kind, base, right, name);
    if (result === null || changedPaths(right, result).length === 0) continue;
    if ((await failuresOf(task, result)).length === 0) passing.push(kind);
    if (passing.length > MAX_LAX) return { reason: "lax", says: passing.join(", ") };
  }
  // Another layout leads nowhere else, and has more lines of git's than what it changes.
  const ofContent = checks.filter(({ kind }) => kind !== "size" && kind !== "links");
  let variants = 0;
  for (const kind of Object.keys({ ...VARIANTS, ...LAYOUTS }))
    for (const isInside of ONLY_INSIDE.has(kind) ? [true] : [true, false]) {
      const result = varied(kind, base, right, isInside);
      if (result === null) continue;
      const [failed] = await failuresOf({ ...task, checks: ofContent }, result);
      if (failed !== undefined)
        return { reason: "strict", says: `${kind}: ${failed.check}: ${failed.problem}` };
      variants += 1;
    }
  return variants >= MIN_VARIANTS ? null : { reason: "strict", says: `${variants} variants can be made.` };
}

/** The checks that refuse some files. Links, which take longest, are looked at last. */
async function failuresOf(task: Judging, result: Files): Promise<{ check: string; problem: string }[]> {
  const isLinks = (check: Judging["checks"][number]) => check.kind === "links";
  for (const checks of [task.checks.filter((each) => !isLinks(each)), task.checks.filter(isLinks)]) {
    const verdicts = await judge({ ...task, checks }, { result, words: "", claims: null });
    const failed = verdicts.flatMap(({ check, problem }) => (problem === null ? [] : [{ check, problem }]));
    if (failed.length > 0) return failed;
  }
  return [];
}
