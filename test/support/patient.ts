import { setTimeout as sleep } from "node:timers/promises";

/**
 * For `vi.waitFor` and `vi.waitUntil`, which give up after one second by themselves. On a busy
 * machine that is soon.
 */
export const PATIENT = { timeout: 60_000, interval: 20 };

/** Does something again and again until what it ends has ended. Resolves to how that ended. */
export async function endedBy<Ending>(act: () => void, ended: Promise<Ending>): Promise<Ending> {
  let isOver = false;
  const over = ended.finally(() => (isOver = true));
  while (!isOver) {
    act();
    await Promise.race([over, sleep(100)]);
  }
  return over;
}
