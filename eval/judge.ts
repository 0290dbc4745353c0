import { type Problem, problemOf } from "./checks.ts";
import { changedPaths } from "./files.ts";
import type { Solution, Task } from "./task.ts";

/** The result of one check of a task. */
export type Verdict = { check: string; problem: Problem };

/** The check that every task has: whether files were changed if they should be, or left alone. */
export const EXPECTED = "expected";

/** Applies all checks of a task to one solution. */
export async function judge(
  task: Pick<Task, "base" | "checks" | "expects">,
  { result, words }: Omit<Solution, "name">,
): Promise<Verdict[]> {
  const solved = { base: task.base, result, words };
  const rest = await Promise.all(
    task.checks.map(async (check) => ({ check: check.name, problem: await problemOf(check, solved) })),
  );
  return [{ check: EXPECTED, problem: unexpected(task, changedPaths(task.base, result)) }, ...rest];
}

function unexpected({ expects }: Pick<Task, "expects">, changed: readonly string[]): Problem {
  if (expects === "change") return changed.length > 0 ? null : "Nothing was changed.";
  return changed.length === 0 ? null : `Nothing should change, but ${changed[0]} did.`;
}
