// @module-tag all

import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { checkTask } from "../../eval/authoring.ts";
import { readTask, taskNames } from "../../eval/task.ts";
import { atNight } from "../support/nightly.ts";

const TASKS = fileURLToPath(new URL("../../eval/tasks", import.meta.url));

const names = await taskNames(TASKS);

it.concurrent.each(
  atNight(
    names,
    names.filter((_, index) => index % 12 === 0),
  ),
)("%s: its reference passes, and what is wrong is noticed", async (name) => {
  expect((await checkTask(await readTask(TASKS, name))).faults).toEqual([]);
});
