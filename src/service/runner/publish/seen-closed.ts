import { z } from "zod";
import { json } from "../../base/json.ts";
import type { JobNotes } from "../runner.ts";

/** By number of a closed pull request: when it was first seen so, in epoch milliseconds. */
export type SeenClosed = ReadonlyMap<number, number>;

const Seen = json(z.array(z.tuple([z.int(), z.int()])));

/**
 * Notes which pull requests of a job are closed now, and resolves to when each was first seen so.
 * One that is reopened is forgotten.
 */
export async function noteClosed(
  notes: JobNotes,
  { numbers, nowMs }: { numbers: readonly number[]; nowMs: number },
): Promise<SeenClosed> {
  const text = (await notes.read("closed")) ?? "[]";
  const before = new Map(Seen.safeParse(text).data ?? []);
  const seen = new Map(numbers.map((number) => [number, before.get(number) ?? nowMs]));
  const next = JSON.stringify([...seen]);
  if (next !== text) await notes.write("closed", next);
  return seen;
}
