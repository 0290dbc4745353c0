import { z } from "zod";

const Words = z.array(z.string());

/** A run of a task that BullMQ is to be told of. `dueAt`: by this process's clock. */
export type ToTell = { id: string; pool: string; run: string; dueAt: number };

/** Reads what the scripts return: id, pool, run and delay in milliseconds, one after the other. */
export function toTell(answer: unknown, nowMs: number): ToTell[] {
  const words = Words.parse(answer);
  const runs: ToTell[] = [];
  for (let n = 0; n + 3 < words.length; n += 4) {
    const [id = "", pool = "", run = "", delayMs = ""] = words.slice(n, n + 4);
    runs.push({ id, pool, run, dueAt: nowMs + Number(delayMs) });
  }
  return runs;
}
