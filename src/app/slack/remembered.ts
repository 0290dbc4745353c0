import { keepNewest } from "../../shared/store/keep-newest.ts";
import type { Clock } from "../../shared/machine/ports.ts";

/**
 * For this long a renamed person keeps the old name, a channel made private counts as public, and
 * someone who becomes a member, or a guest, is treated as before.
 */
export const KEPT_MS = 5 * 60_000;
/** The most that is remembered of each kind. The oldest goes first. */
export const KEPT_MAX = 10_000;

/**
 * Remembers what Slack answered, because it allows some 50 look-ups a minute. Where it gave no
 * answer (null), it is asked again.
 */
export function remembered<T>(
  clock: Pick<Clock, "monotonicMs">,
  ask: (id: string) => Promise<T | null>,
): typeof ask {
  const known = new Map<string, { value: T; untilMs: number }>();
  return async (id) => {
    const before = known.get(id);
    if (before !== undefined && clock.monotonicMs() < before.untilMs) return before.value;
    const value = await ask(id);
    if (value === null) known.delete(id);
    else keepNewest(known, id, { value, untilMs: clock.monotonicMs() + KEPT_MS }, KEPT_MAX);
    return value;
  };
}
