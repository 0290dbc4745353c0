import { setTimeout as sleep } from "node:timers/promises";

/**
 * Sends requests at a fixed pace, whether or not earlier ones are answered. Resolves to how long
 * each took, milliseconds.
 */
export async function pacedTimes(
  request: (index: number) => Promise<unknown>,
  { everyMs, forMs }: { everyMs: number; forMs: number },
): Promise<number[]> {
  const timed = async (index: number) => {
    const sentAt = performance.now();
    await request(index);
    return performance.now() - sentAt;
  };
  const answers: Promise<number>[] = [];
  const endAt = performance.now() + forMs;
  for (let dueAt = performance.now(); dueAt < endAt; dueAt += everyMs) {
    await sleep(Math.max(0, dueAt - performance.now()));
    answers.push(timed(answers.length));
  }
  return Promise.all(answers);
}
