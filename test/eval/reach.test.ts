// @module-tag all

import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { patchOf } from "../../eval/files.ts";
import {
  HALVES,
  judgeKnown,
  knownSolutions,
  reachText,
  type JudgedSolution,
} from "../../eval/reach/reach.ts";
import { readTask, taskNames } from "../../eval/task.ts";

const TASKS = fileURLToPath(new URL("../../eval/tasks", import.meta.url));
const names = await taskNames(TASKS);

it("knows at least 200 wrong and 100 right solutions, in two halves", async () => {
  const all = (
    await Promise.all(names.map(async (name) => knownSolutions(await readTask(TASKS, name))))
  ).flat();
  const wrong = all.filter(({ sort }) => sort !== "right");
  expect(wrong.length).toBeGreaterThan(200);
  expect(all.length - wrong.length).toBeGreaterThan(100);
  for (const half of HALVES) expect(all.filter((each) => each.half === half).length).toBeGreaterThan(150);
});

it("does the same damage in other places with another seed", async () => {
  const task = await readTask(TASKS, "wrong-default");
  const patches = async (seed: string) =>
    (await knownSolutions(task, seed)).map(({ name, sort, result }) => ({
      name,
      patch: sort === "right" ? "" : patchOf(task.base, result),
    }));
  const [one, again, other] = [await patches(""), await patches(""), await patches("autumn")];
  expect(again).toEqual(one);
  expect(other.map(({ name }) => name)).toEqual(one.map(({ name }) => name));
  expect(other).not.toEqual(one);
});

it("tells right from wrong", { tags: "nightly", timeout: 3_600_000 }, async () => {
  const judged: JudgedSolution[] = [];
  for (const name of names) judged.push(...(await judgeKnown(await readTask(TASKS, name), HALVES)));
  const passed = (sort: JudgedSolution["sort"]) => {
    const its = judged.filter((each) => each.sort === sort);
    return its.filter(({ failed }) => failed.length === 0).length / its.length;
  };
  const shares = { damage: passed("damage"), slip: passed("slip"), right: passed("right") };
  const isGood = shares.damage <= 0.1 && shares.slip <= 0.4 && shares.right >= 0.92;
  // The table says which of them are judged wrong.
  expect(isGood ? "" : reachText(judged, true)).toBe("");
});
