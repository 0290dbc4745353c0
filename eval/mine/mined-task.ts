import { mkdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { stringify } from "yaml";
import type { z } from "zod";
import { type Files, patchOf, patched } from "../files.ts";
import type { Judging } from "../judge.ts";
import { TaskFile } from "../task.ts";
import type { Derived } from "./derive.ts";
import type { Landed } from "./history.ts";
import type { PlaceKind } from "./places.ts";
import type { Request } from "./request.ts";
import type { Found } from "./select.ts";

/** A task as it is written, and as it is judged. */
export type MinedTask = {
  name: string;
  file: z.input<typeof TaskFile> & { kind: PlaceKind };
  patch: string;
  judged: Judging & { name: string };
};

/** What a task is made of. */
export type Material = {
  commit: Landed;
  found: Found;
  request: Request;
  checks: Derived;
  base: Files;
  right: Files;
  name: string;
  docs: readonly string[];
  gitDir: string;
};

const TESTS: Record<PlaceKind, string> = {
  fact: "A name or a number that was wrong",
  sample: "A sample that was wrong",
  link: "A link that led nowhere, or elsewhere",
  words: "A few wrong words",
  prose: "A passage that was wrong",
};

/** Makes the task of a commit. */
export function minedTask({
  commit,
  found,
  request,
  checks,
  base,
  right,
  name,
  docs,
  gitDir,
}: Material): MinedTask {
  const date = commit.at.toISOString().slice(0, 10);
  const patch = patchOf(base, right);
  const paths = [...new Set(found.places.map(({ path }) => path))].join(", ");
  const file = {
    tests: `${TESTS[found.kind]} on ${paths} becomes what was merged.`,
    score: "traffic" as const,
    kind: found.kind,
    idea: `Commit ${commit.id} of ${name}, ${date}.`,
    license: `That of ${name}.`,
    request: request.text,
    docs: [...docs],
    at: { repository: join("..", basename(gitDir)), commit: commit.parent },
    mined: { date, request: request.from },
    expects: "change" as const,
    ...checks,
    wrong: [],
  };
  const { expects, checks: all, request: words, quoted, followUps, zone } = TaskFile.parse(file);
  const taskName = `${name}-${commit.id.slice(0, 8)}`;
  const judged = { name: taskName, base, right: patched(base, patch), contexts: new Map<string, Files>() };
  return {
    name: taskName,
    file,
    patch,
    judged: { ...judged, expects, checks: all, request: words, quoted, followUps, zone },
  };
}

/** Writes a task's folder, whose repository is the copy of the history beside it. */
export async function writeTask(out: string, { name, file, patch }: MinedTask): Promise<void> {
  const folder = join(out, name);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "task.yml"), stringify(file, { lineWidth: 100 }));
  await writeFile(join(folder, "reference.patch"), patch);
}
