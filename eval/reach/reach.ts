import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { changedPaths, type Files } from "../files.ts";
import { judge } from "../judge.ts";
import { NamedClaim } from "../rules/solved.ts";
import { referenceOf, type Solution, type Task } from "../task.ts";
import { damaged, DAMAGES, HELD_OUT_DAMAGES } from "./damages.ts";
import { numberOf } from "./page-parts.ts";
import { SLIPS, slipped } from "./slips.ts";
import { ONLY_INSIDE, varied, VARIANTS } from "./variants.ts";

/** The two halves of the solutions: the judge was tuned on one, and not on the other. */
export const HALVES = ["tuned", "held-out"] as const;
export type Half = (typeof HALVES)[number];

/** A solution of which it is known if it is right. */
export type KnownSolution = Solution & { sort: "damage" | "slip" | "right"; kind: string; half: Half };

const Edit = z.strictObject({ in: z.string(), from: z.string(), to: z.string() });
const ByHand = z.strictObject({
  name: z.string(),
  /** What is wrong with it. */
  kind: z.string().default("other words"),
  edits: z.array(Edit).default([]),
  words: z.string().optional(),
  claims: z.array(NamedClaim).optional(),
});
/** The file `known.yml` of a task's folder. */
const Known = z.strictObject({
  right: z.array(ByHand).default([]),
  wrong: z.array(ByHand).default([]),
});

/**
 * All known solutions of a task, made of its reference. Another seed does the same damage in other
 * places. Rejects with an `Error` if an edit doesn't fit.
 */
export async function knownSolutions(task: Task, seed = ""): Promise<KnownSolution[]> {
  const file = join(task.folder, "known.yml");
  const known = Known.parse(existsSync(file) ? parse(await readFile(file, "utf8")) : {});
  const reference = referenceOf(task);
  const made = task.right === null ? [] : generated(task, reference, { right: task.right, seed });
  const isOther = ({ result, words }: Solution) =>
    words !== reference.words || changedPaths(reference.result, result).length > 0;
  return [
    ...known.right.map((each) => byHand(each, "right", task, reference)),
    ...known.wrong.map((each) => byHand(each, "slip", task, reference)),
    ...made,
  ].filter((each) => each.sort === "right" || isOther(each));
}

function byHand(
  { name, kind, edits, words, claims }: z.infer<typeof ByHand>,
  sort: KnownSolution["sort"],
  task: Task,
  reference: Solution,
): KnownSolution {
  const where = `${task.name}, ${name}`;
  return {
    name,
    sort,
    kind,
    words: words ?? reference.words,
    claims: claims ?? null,
    result: edits.reduce<Files>((files, edit) => edited(files, edit, where), reference.result),
    half: halfOf(`${task.name} ${name}`),
  };
}

function edited(files: Files, { in: path, from, to }: z.infer<typeof Edit>, where: string): Files {
  const text = files.get(path)?.toString();
  if (text?.includes(from) !== true)
    throw new Error(`${where}: ${path} doesn't have ${JSON.stringify(from)}`);
  return new Map(files).set(path, Buffer.from(text.replace(from, () => to)));
}

function generated(
  { name, base }: Task,
  reference: Solution,
  { right, seed }: { right: Files; seed: string },
): KnownSolution[] {
  const place = `${name}${seed}`;
  const solution = (sort: KnownSolution["sort"], kind: string, result: Files | null, half: Half) =>
    result === null ? [] : [{ ...reference, name: kind, sort, kind, result, half }];
  const damages = Object.keys(DAMAGES).flatMap((kind) => {
    const isHeldOut = HELD_OUT_DAMAGES.has(kind) || halfOf(`${name} ${kind}`) === "held-out";
    return solution("damage", kind, damaged(kind, base, right, place), isHeldOut ? "held-out" : "tuned");
  });
  const slips = Object.keys(SLIPS).flatMap((kind) =>
    solution("slip", kind, slipped(kind, base, right, place), halfOf(`${name} ${kind}`)),
  );
  const variants = Object.keys(VARIANTS).flatMap((kind) =>
    [true, false]
      .filter((isInside) => isInside || !ONLY_INSIDE.has(kind))
      .flatMap((isInside) => {
        const where = isInside ? "inside" : "outside";
        return solution(
          "right",
          "neutral",
          varied(kind, base, right, isInside),
          halfOf(`${name} ${kind} ${where}`),
        ).map((each) => ({ ...each, name: `${kind} ${where}` }));
      }),
  );
  return [...damages, ...slips, ...variants];
}

function halfOf(words: string): Half {
  return numberOf(`half of ${words}`) % 2 === 0 ? "tuned" : "held-out";
}

/** A known solution as it was judged. `failed` has each check that refused it, with its reason. */
export type JudgedSolution = KnownSolution & { task: string; failed: string[] };

/** Judges the known solutions of one half of a task's. */
export async function judgeKnown(task: Task, halves: readonly Half[], seed = ""): Promise<JudgedSolution[]> {
  const judged: JudgedSolution[] = [];
  for (const solution of await knownSolutions(task, seed)) {
    if (!halves.includes(solution.half)) continue;
    const verdicts = await judge(task, solution);
    const failed = verdicts.flatMap(({ check, problem }) =>
      problem === null ? [] : [`${check}: ${problem}`],
    );
    judged.push({ ...solution, task: task.name, failed });
  }
  return judged;
}

/** A line for each kind, with how many of its solutions pass. */
export function reachText(judged: readonly JudgedSolution[], isVerbose: boolean): string {
  const lines: string[] = [];
  for (const sort of ["damage", "slip", "right"] as const) {
    const its = judged.filter((each) => each.sort === sort);
    const passed = its.filter(({ failed }) => failed.length === 0);
    const share = (part: number, all: number) =>
      `${part} of ${all} (${all === 0 ? 0 : Math.round((100 * part) / all)} %)`;
    lines.push(`${HEADS[sort]}: ${share(passed.length, its.length)} pass`);
    for (const [kind, some] of [...Map.groupBy(its, (each) => each.kind)].toSorted(([a], [b]) =>
      a.localeCompare(b),
    ))
      lines.push(
        `  ${kind.padEnd(22)} ${share(some.filter(({ failed }) => failed.length === 0).length, some.length)}`,
      );
    if (!isVerbose) continue;
    for (const { task, name, failed } of its)
      if ((failed.length === 0) !== (sort === "right"))
        lines.push(`    ${task} ${name} ${failed.join(" | ")}`);
  }
  return `${lines.join("\n")}\n`;
}

const HEADS = { damage: "Damage outside of the change", slip: "Subtly wrong", right: "Right" };
