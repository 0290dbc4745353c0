import { allowedBy } from "./allowed.ts";
import { matcher, problemOf } from "./checks.ts";
import { changedPaths } from "./files.ts";
import { hygieneFindings } from "../src/service/runner/hygiene/hygiene.ts";
import { isReadAsText } from "../src/service/runner/workspace/git/changed-pages.ts";
import { agreementProblem } from "./rules/agreement.ts";
import { samplesProblem } from "./rules/samples.ts";
import { listed, type Problem, type Solved } from "./rules/solved.ts";
import { sourcesProblem } from "./rules/sources.ts";
import { deedsProblem } from "./rules/deeds.ts";
import { type Typed, typedWords } from "./person.ts";
import { zoneProblem } from "./rules/zone.ts";
import type { Solution, Task } from "./task.ts";

/** The result of one check of a task. */
export type Verdict = { check: string; problem: Problem };

/** The check that every task has: whether files were changed if they should be, or left alone. */
export const EXPECTED = "expected";
/** The check that every task has, as every turn of the job service: see docs/quality.md. */
const HYGIENE_CHECK = "hygiene";

/** What a solution is judged by. */
export type Judging = Typed & Pick<Task, "base" | "right" | "contexts" | "checks" | "quoted" | "zone">;

/** The checks that every task has, besides its own. */
const EVERY_TASK: Readonly<Record<string, (solved: Solved, task: Judging) => Problem | Promise<Problem>>> = {
  [EXPECTED]: ({ before, after }, { expects }) => unexpected(expects, changedPaths(before, after)),
  [HYGIENE_CHECK]: unclean,
  zone: (solved, task) => zoneProblem(solved, { isFree: isFreeIn(task, solved), adds: task.zone.adds }),
  agreement: (solved, task) => agreementProblem(solved, isFreeIn(task, solved)),
  samples: samplesProblem,
  deeds: deedsProblem,
  sources: sourcesProblem,
};

/** Applies all checks of a task to one solution. */
export async function judge(
  task: Judging,
  { result, words, claims }: Omit<Solution, "name">,
): Promise<Verdict[]> {
  const { base: before, right: reference, contexts, quoted } = task;
  const told = [...typedWords(task), ...quoted.map(({ text }) => text)].join("\n");
  const solved: Solved = { before, after: result, reference, contexts, told, words, claims };
  return Promise.all([
    ...Object.entries(EVERY_TASK).map(async ([check, find]) => ({
      check,
      problem: await find(solved, task),
    })),
    ...task.checks.map(async (check) => ({ check: check.name, problem: await problemOf(check, solved) })),
  ]);
}

function isFreeIn({ zone, checks }: Judging, solved: Solved): (text: string) => boolean {
  const patterns = zone.may.map((pattern) => new RegExp(pattern, "iu"));
  const isAllowed = allowedBy(checks, matcher, solved);
  return (text) => patterns.some((pattern) => pattern.test(text)) || isAllowed(text);
}

function unexpected(expects: Task["expects"], changed: readonly string[]): Problem {
  if (expects === "change") return changed.length > 0 ? null : "Nothing was changed.";
  return changed.length === 0 ? null : `Nothing should change, but ${changed[0]} did.`;
}

function unclean({ before, after }: Solved, task: Judging): Problem {
  const pages = changedPaths(before, after)
    .filter(isReadAsText)
    .map((path) => ({ path, before: before.get(path) ?? null, after: after.get(path) ?? null }));
  const quotedNames = task.quoted.map(({ from }) => from);
  const facts = { words: typedWords(task).join("\n"), quotedNames };
  const found = hygieneFindings({ pages, facts, off: [] });
  const lines = found.map(({ path, line, says }) => `${path}:${line} ${says}`);
  return listed("Hygiene:", lines);
}
