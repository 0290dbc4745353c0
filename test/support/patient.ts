/**
 * For `vi.waitFor` and `vi.waitUntil`, which give up after one second by themselves. On a busy
 * machine that is soon.
 */
export const PATIENT = { timeout: 60_000, interval: 20 };
