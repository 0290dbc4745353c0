import { setTimeout as sleep } from "node:timers/promises";

/**
 * Makes requests at a fixed pace, without waiting for earlier answers. Resolves to the time of
 * each, in milliseconds.
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
