import { readdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { DEFAULT_DOCS_GLOBS } from "../../src/service/config/config-schema.ts";
import { checkDay, numberFrom } from "../settings.ts";
import { keepHistory, landedSince, nameOfRepository } from "./history.ts";
import { issuesFrom, NO_ISSUES } from "./issues.ts";
import { mine } from "./mine.ts";
import { type MinedTask, writeTask } from "./mined-task.ts";
import { minedOf, minedText } from "./mined-text.ts";

/** The options of `npm run eval -- mine`. */
export type MineOptions = {
  repository: string;
  since: string;
  issues?: string;
  docs?: string;
  limit: string;
  out: string;
  json?: boolean;
};

/** Makes tasks of a repository's history, and prints how many and why no more. */
export async function mineHistory(
  { repository, since, out, json, ...options }: MineOptions,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  checkDay("--since", since);
  const limit = numberFrom("--limit", options.limit, { whole: true });
  const issues = options.issues === undefined ? NO_ISSUES : await issuesFrom(options.issues, env);
  const folder = resolve(out);
  const name = nameOfRepository(repository);
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const gitDir = await keepHistory(repository, folder);
  const commits = await landedSince(gitDir, since);
  say(`${commits.length} commits of ${name} since ${since}.`);
  await removeEarlier(folder, name);
  const tasks: MinedTask[] = [];
  const seen = await mine(commits, {
    name,
    gitDir,
    docs: options.docs?.split(",").map((pattern) => pattern.trim()) ?? DEFAULT_DOCS_GLOBS,
    issues,
    limit,
    onTask: async (task) => {
      tasks.push(task);
      await writeTask(folder, task);
    },
    onLine: say,
  });
  const mined = minedOf(repository, since, seen, tasks);
  const all = { ...mined, seen };
  await writeFile(join(folder, `${name}.json`), `${JSON.stringify(all, null, 2)}\n`);
  process.stdout.write(json === true ? `${JSON.stringify(mined, null, 2)}\n` : minedText(mined));
}

/** Removes the tasks that an earlier run made of this repository. */
async function removeEarlier(folder: string, name: string): Promise<void> {
  const isIts = new RegExp(`^${name}-[\\da-f]{8}$`);
  for (const entry of await readdir(folder))
    if (isIts.test(entry)) await rm(join(folder, entry), { recursive: true });
}
