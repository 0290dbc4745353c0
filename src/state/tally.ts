import { createHash } from "node:crypto";
import { z } from "zod";
import type { Entry } from "./side.ts";

/** How many entries there are of each kind, and a checksum of them in whatever order. */
export const Totals = z.strictObject({
  records: z.int(),
  series: z.int(),
  tasks: z.int(),
  done: z.int(),
  checksum: z.string(),
});
export type Totals = z.infer<typeof Totals>;

const COUNTED = { record: "records", series: "series", task: "tasks", done: "done" } as const;

/** Adds entries up: the sum of their SHA-256 says whether two sides hold the same, however they are sorted. */
export class Tally {
  readonly #counts = { records: 0, series: 0, tasks: 0, done: 0 };
  readonly #sum = new BigUint64Array(4);

  add(entry: Entry): void {
    this.#counts[COUNTED[entry.kind]] += 1;
    const digest = createHash("sha256").update(lineOf(entry)).digest();
    for (const n of this.#sum.keys()) {
      // Each part wraps around on its own.
      this.#sum[n] = (this.#sum[n] ?? 0n) + digest.readBigUInt64BE(8 * n);
    }
  }

  get totals(): Totals {
    const parts = [...this.#sum].map((part) => part.toString(16).padStart(16, "0"));
    return { ...this.#counts, checksum: parts.join("") };
  }
}

/** An entry as a line of a dump, its fields in the order of their names. */
export function lineOf(entry: Entry): string {
  const line = JSON.stringify(entry, Object.keys(entry).toSorted());
  // JSON may hold these two as they are. To whoever reads lines, they end one.
  return line.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}
