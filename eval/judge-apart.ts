import { Worker } from "node:worker_threads";
import type { Judging, Verdict } from "./judge.ts";
import type { Solution } from "./task.ts";

/** Enough for 2,000 pages on a busy machine. */
const TIME_LIMIT_MS = 120_000;

export type ToJudge = { task: Judging; solution: Omit<Solution, "name"> };

/** The results of the checks, and the change as a patch. The patch is empty if nothing changed. */
export type Judged = { verdicts: Verdict[]; patch: string };

/**
 * Judges an agent's work in a separate thread, because its text can make a pattern or a comparison
 * run forever. Resolves to null if it takes longer than `timeLimitMs`. Rejects if a check throws.
 */
export async function judgeApart(
  { base, right, contexts, checks, expects, request, answer, followUps, quoted, zone }: Judging,
  { result, words, claims }: Omit<Solution, "name">,
  timeLimitMs = TIME_LIMIT_MS,
): Promise<Judged | null> {
  const task = { base, right, contexts, checks, expects, request, answer, followUps, quoted, zone };
  const workerData: ToJudge = { task, solution: { result, words, claims } };
  const worker = new Worker(new URL("./judge-worker.ts", import.meta.url), { workerData });
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<Judged | null>((resolve, reject) => {
      timer = setTimeout(resolve, timeLimitMs, null);
      worker.once("message", resolve).once("error", reject);
    });
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}
