import { setTimeout as sleep } from "node:timers/promises";

/**
 * Options of `vi.waitFor` and `vi.waitUntil`. By default they give up after one second, which is
 * too soon on a busy machine.
 */
export const PATIENT = { timeout: 60_000, interval: 20 };

/** Repeats an act until `ended` settles. Resolves to its result. */
export async function endedBy<Ending>(act: () => void, ended: Promise<Ending>): Promise<Ending> {
  let isOver = false;
  const over = ended.finally(() => (isOver = true));
  while (!isOver) {
    act();
    await Promise.race([over, sleep(100)]);
  }
  return over;
}
