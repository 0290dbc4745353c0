import { addAbortListener } from "node:events";
import { type Clock, within } from "../../shared/machine/ports.ts";

/**
 * Waits by the clock. As soon as the signal aborts, or if it already has, rejects with its reason.
 */
export async function pause(
  clock: Pick<Clock, "now" | "wakeAt">,
  ms: number,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  using _ = addAbortListener(signal, () => resolve());
  await within(clock, ms, aborted, undefined);
  signal.throwIfAborted();
}
