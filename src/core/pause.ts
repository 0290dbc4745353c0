import { z } from "zod";
import { storedObject } from "./stored-object.ts";

/** How long a watched turn's agent was not at work, as it waited for its turn or for an answer; epoch milliseconds. `since`: it isn't now. */
export const Pause = storedObject({ totalMs: z.number(), since: z.number().nullable() });
export type Pause = z.infer<typeof Pause>;

/** The pause of a turn whose agent is seen at work, or not. The same object when nothing changed. */
export function pauseAfter(pause: Pause | undefined, isAtWork: boolean, now: number): Pause | undefined {
  const since = pause?.since ?? null;
  if (isAtWork === (since === null)) return pause;
  return { ...pause, totalMs: pausedMs(pause, now), since: isAtWork ? null : now };
}

/** How long it was not at work by then, milliseconds. */
export function pausedMs(pause: Pause | undefined, now: number): number {
  if (pause === undefined) return 0;
  // The clock may have been set back since.
  return pause.totalMs + (pause.since === null ? 0 : Math.max(0, now - pause.since));
}
