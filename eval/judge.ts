import { type Problem, problemOf } from "./checks.ts";
import { changedPaths } from "./files.ts";
import { hygieneFindings } from "../src/service/runner/hygiene/hygiene.ts";
import { isReadAsText } from "../src/service/runner/workspace/git/changed-pages.ts";
import type { Solution, Task } from "./task.ts";

/** The result of one check of a task. */
export type Verdict = { check: string; problem: Problem };

/** The check that every task has: whether files were changed if they should be, or left alone. */
export const EXPECTED = "expected";
/** The check that every task has, as every turn of the job service: see docs/quality.md. */
export const HYGIENE_CHECK = "hygiene";

/** What a solution is judged by. */
export type Judging = Pick<Task, "base" | "checks" | "expects" | "request" | "quoted">;

/** Applies all checks of a task to one solution. */
export async function judge(task: Judging, { result, words }: Omit<Solution, "name">): Promise<Verdict[]> {
  const solved = { base: task.base, result, words };
  const rest = await Promise.all(
    task.checks.map(async (check) => ({ check: check.name, problem: await problemOf(check, solved) })),
  );
  return [
    { check: EXPECTED, problem: unexpected(task, changedPaths(task.base, result)) },
    { check: HYGIENE_CHECK, problem: unclean(task, result) },
    ...rest,
  ];
}

function unexpected({ expects }: Pick<Task, "expects">, changed: readonly string[]): Problem {
  if (expects === "change") return changed.length > 0 ? null : "Nothing was changed.";
  return changed.length === 0 ? null : `Nothing should change, but ${changed[0]} did.`;
}

function unclean({ base, request, quoted }: Judging, result: Solution["result"]): Problem {
  const pages = changedPaths(base, result)
    .filter(isReadAsText)
    .map((path) => ({ path, before: base.get(path) ?? null, after: result.get(path) ?? null }));
  const facts = { words: request, quotedNames: quoted.map(({ from }) => from) };
  const found = hygieneFindings({ pages, facts, off: [] });
  return found.length === 0
    ? null
    : found.map(({ path, line, says }) => `${path}:${line} ${says}`).join("\n");
}
