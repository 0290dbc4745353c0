import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { checkTask } from "../../eval/authoring.ts";
import { readTask, taskNames } from "../../eval/task.ts";

const TASKS = fileURLToPath(new URL("../../eval/tasks", import.meta.url));

it.concurrent.each(await taskNames(TASKS))(
  "%s: its reference passes, and what is wrong is noticed",
  async (name) => {
    expect((await checkTask(await readTask(TASKS, name))).faults).toEqual([]);
  },
);
