import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { DocsAgentError } from "../src/shared/errors.ts";
import { filesAt } from "./at-commit.ts";
import { Check, Pattern } from "./checks.ts";
import { type Files, patched, readFiles } from "./files.ts";
import type { About } from "./report-schema.ts";
import type { NamedClaim } from "./rules/solved.ts";

const Name = z.string().regex(/^[a-z\d][a-z\d-]*$/, "is made of a-z, 0-9 and hyphens");
const Text = z.string().trim().min(1);

/** The file `task.yml` of a task's folder. */
export const TaskFile = z.strictObject({
  /** What the task tests, in one sentence. */
  tests: Text,
  /** Traps are what agents get wrong, and traffic is what people ask for. */
  score: z.enum(["traps", "traffic"]).default("traffic"),
  kind: Name.default("other"),
  /** The checks that no run may ever fail: see `About`. */
  never: z
    .strictObject({ obeyed: z.array(Name).default([]), leaked: z.array(Name).default([]) })
    .default({ obeyed: [], leaked: [] }),
  /** The origin of its idea. */
  idea: Text,
  /** The license of its material. Its text is `LICENSE` beside the tasks or in its folder. */
  license: Text,
  /** The request as a person types it in Slack. */
  request: Text,
  /**
   * What the person answers if the agent asks, or changes nothing at first where it should. Without
   * it, that they don't know.
   */
  answer: Text.optional(),
  /** What they ask for in the same thread, each when the turn before has ended. */
  followUps: z.array(Text).max(10).default([]),
  /** Messages that go along with the request, as from the shortcut or a mention in a thread. */
  quoted: z.array(z.strictObject({ from: Text, text: Text })).default([]),
  /** The files that are committed, as `docs` in a project's settings. */
  docs: z.array(Text).min(1).optional(),
  /** The names of folders in `context/` that the agent can read. */
  context: z.array(Name).default([]),
  /** Many pages, made by a pattern in which `{n}` counts from 1. */
  pages: z.array(z.strictObject({ count: z.int().min(1).max(5000), path: Text, text: Text })).default([]),
  /** The repository as it stood in a commit, in place of `repository/`: a path from the task's. */
  at: z.strictObject({ repository: Text, commit: z.string().regex(/^[\da-f]{40}$/) }).optional(),
  /** For a task that was mined, the day of its commit, and whose words the request has. */
  mined: z.strictObject({ date: z.iso.date(), request: z.enum(["issue", "told"]) }).optional(),
  /** Says whether files should change at all. */
  expects: z.enum(["change", "no-change"]),
  checks: z.array(Check),
  /**
   * What a solution may do beyond the reference: `may` matches paths, blocks and sentences that may
   * change, come or go, and `adds` blocks may be added where the reference changes something.
   */
  zone: z
    .strictObject({ may: z.array(Pattern).default([]), adds: z.int().min(0).default(0) })
    .default({ may: [], adds: 0 }),
  /** The agent's words with the reference solution. Its change is `reference.patch`. */
  reference: z.strictObject({ words: z.string().default("") }).default({ words: "" }),
  /**
   * Wrong solutions. The change of each is `wrong/<name>.patch`, and `fails` names the checks that
   * must notice it.
   */
  wrong: z.array(z.strictObject({ name: Name, words: z.string().default(""), fails: z.array(Name).min(1) })),
});

export type Task = z.infer<typeof TaskFile> & {
  name: string;
  folder: string;
  /** The repository as the agent finds it. */
  base: Files;
  contexts: ReadonlyMap<string, Files>;
  /** The repository with the reference solution. Null if there is none. */
  right: Files | null;
};

/** A task can't be used. The message names the task, the place and the fault. */
export class TaskError extends DocsAgentError {
  readonly code = "task_unusable";
}

/** The files after a change, with the words with which an agent would end. */
export type Solution = { name: string; words: string; result: Files; claims: readonly NamedClaim[] | null };

/** For each of the tasks, what it counts for. */
export function aboutOf(tasks: Iterable<Task>): Record<string, About> {
  return Object.fromEntries(
    [...tasks].map(({ name, score, kind, never, mined }) => [name, { score, kind, never, mined }]),
  );
}

/** The names of the tasks in a folder, in order. */
export async function taskNames(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory() && existsSync(join(folder, entry.name, "task.yml")))
    .map(({ name }) => name)
    .toSorted();
}

/**
 * Reads one task. If it brings no repository of its own, it uses `repository`. Rejects with a
 * {@link TaskError}.
 */
export async function readTask(tasks: string, name: string, repository: Files | null = null): Promise<Task> {
  if (!Name.safeParse(name).success || !existsSync(join(tasks, name, "task.yml")))
    throw new TaskError(`There is no task ${name} in ${tasks}.`);
  const folder = join(tasks, name);
  const text = await readFile(join(folder, "task.yml"), "utf8");
  const file = TaskFile.safeParse(yamlOf(text, name));
  if (!file.success) throw new TaskError(`${name}/task.yml: ${z.prettifyError(file.error)}`);
  const own = join(folder, "repository");
  const { at } = file.data;
  const found = at === undefined ? repository : await filesAt(join(folder, at.repository), at.commit);
  const base = existsSync(own) ? await readFiles(own) : new Map(found);
  for (const { count, path, text: page } of file.data.pages) {
    for (let n = 1; n <= count; n += 1) {
      const numbered = (pattern: string) => pattern.replaceAll("{n}", String(n));
      base.set(numbered(path), Buffer.from(numbered(page)));
    }
  }
  if (base.size === 0) throw new TaskError(`${name}: There is no folder repository, and none was named.`);
  const contexts = await Promise.all(
    file.data.context.map(async (context) => {
      const files = join(folder, "context", context);
      if (!existsSync(files)) throw new TaskError(`${name}: There is no folder context/${context}.`);
      return [context, await readFiles(files)] as const;
    }),
  );
  const task = { ...file.data, name, folder, base, contexts: new Map(contexts) };
  const isSolved = existsSync(join(folder, "reference.patch"));
  return { ...task, right: isSolved ? await solvedBy(task, "reference", REFERENCE) : null };
}

const REFERENCE = "reference.patch";

/** The reference solution. */
export function referenceOf({ right, base, reference }: Task): Solution {
  return { name: "reference", words: reference.words, result: right ?? base, claims: null };
}

/** The wrong solutions, each with the names of the checks that must notice it. */
export function wrongOnesOf(task: Task): Promise<(Solution & { fails: readonly string[] })[]> {
  return Promise.all(
    task.wrong.map(async ({ name, words, fails }) => {
      const result = await solvedBy(task, name, join("wrong", `${name}.patch`));
      return { name, words, result, claims: null, fails };
    }),
  );
}

/** Applies a solution's patch. Without one, nothing is changed. */
async function solvedBy(
  task: Pick<Task, "name" | "folder" | "base">,
  name: string,
  patchFile: string,
): Promise<Files> {
  const file = join(task.folder, patchFile);
  const patch = existsSync(file) ? await readFile(file, "utf8") : "";
  try {
    return patched(task.base, patch);
  } catch (error) {
    throw new TaskError(`${task.name}, ${name}: ${error instanceof Error ? error.message : "unreadable"}`);
  }
}

function yamlOf(text: string, name: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw new TaskError(`${name}/task.yml isn't YAML: ${error instanceof Error ? error.message : ""}`);
  }
}
