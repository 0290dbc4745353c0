import type { Clock } from "../core/ports/clock.ts";

const WINDOW_MS = 60_000;
/** Lines beyond so many kinds in a minute share one: what they say may come from outside. */
const MAX_KINDS = 100;

/**
 * Writes a line of a kind, or leaves it out. `repeated` in `fields`: how many were left out since
 * the last one.
 */
export type SampleLine = (kind: string, write: (fields: { repeated?: number }) => void) => void;

/**
 * Of each kind of line the first is written at once, then at most one a minute, with how many there
 * were.
 */
export function createLineSampler(clock: Clock): SampleLine {
  const kinds = new Map<string, { leftOut: number; write: (fields: { repeated: number }) => void }>();

  function openWindow(kind: string): void {
    clock.wakeAt(clock.now() + WINDOW_MS, () => {
      const seen = kinds.get(kind);
      if (seen === undefined || seen.leftOut === 0) {
        kinds.delete(kind);
        return;
      }
      seen.write({ repeated: seen.leftOut });
      seen.leftOut = 0;
      openWindow(kind);
    });
  }

  return (kind, write) => {
    const name = kinds.has(kind) || kinds.size < MAX_KINDS ? kind : "";
    const seen = kinds.get(name);
    if (seen !== undefined) {
      seen.leftOut += 1;
      seen.write = write;
      return;
    }
    kinds.set(name, { leftOut: 0, write });
    write({});
    openWindow(name);
  };
}
