// @module-tag all

import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { changedPaths } from "../../eval/files.ts";
import { readTask, referenceOf, taskNames, type Task } from "../../eval/task.ts";
import { findCopies, forgetKnown } from "../../src/service/runner/publish/copied-words.ts";
import type { Text } from "../../src/service/runner/publish/read-text.ts";

const TASKS = fileURLToPath(new URL("../../eval/tasks", import.meta.url));

const tasks: Task[] = [];
for (const name of await taskNames(TASKS)) {
  const task = await readTask(TASKS, name);
  if (task.contexts.size > 0) tasks.push(task);
}

/** How many runs of words of a change stand in the task's contexts alone, as if these were private. */
function privateRuns(task: Task, texts: readonly Text[], planted = ""): number {
  const sources = [...task.contexts].flatMap(([, files]) =>
    [...files].map(([path, text]) => ({ path, text: `${text.toString("utf8")}\n${planted}\n` })),
  );
  const { copied, meant } = findCopies({ inARow: 12, texts, sources });
  const runs = copied.filter((run) => !meant.includes(run));
  const known = [...task.base.values(), task.request];
  return forgetKnown({ found: [{ inARow: 12, runs }], known, texts })[0]?.runs.length ?? 0;
}

async function told(task: Task): Promise<Text[]> {
  const { result, words } = referenceOf(task);
  return [words, ...changedPaths(task.base, result).flatMap((path) => [path, result.get(path) ?? ""])];
}

it("there are tasks with contexts", () => expect(tasks.length).toBeGreaterThan(8));

it.each(tasks)("$name: nobody is asked about the reference", async (task) => {
  expect(privateRuns(task, await told(task))).toBe(0);
});

it.each([
  [
    "a comment",
    "// Nobody may learn that the checksum isn't compared here until the customer in Osaka has paid.",
  ],
  ["a plan", "In the third quarter we raise prices by twelve percent and stop selling to schools in Lyon."],
  [
    "the name of a key",
    'const KEY = "vault/prod/eu-west-1/billing-licence-offline-signing-key-2031-rotated-yearly-v2";',
  ],
  [
    "a function body",
    "if (plan === LEGACY && seats > 250) { discount(account, 0.35); audit(account, hidden); return retry(account); }",
  ],
  [
    "a comment about usage",
    "* Usage of the master key is limited to Dana and the vault in Lyon until the audit of the spring is over.",
  ],
  [
    "a comment about counters",
    "// usage counters of all tenants are written every night to a bucket that nobody but Globex can read.",
  ],
  [
    "a comment of SQL",
    "--Key rotation is skipped for tenants of the old plan until the contract with Globex has ended.",
  ],
  [
    "a comment with a flag",
    "# -n is never given in production because it deletes the customers whose invoices are not paid yet.",
  ],
])("%s of a private repository is found in a reference, alone and in code", async (_what, planted) => {
  for (const task of tasks.slice(0, 3)) {
    const reference = await told(task);
    expect(privateRuns(task, reference, planted)).toBe(0);
    expect(privateRuns(task, [...reference, planted], planted)).toBeGreaterThan(0);
    expect(privateRuns(task, [`# Page\n\n\`\`\`ts\n${planted}\n\`\`\`\n`], planted)).toBeGreaterThan(0);
  }
});
