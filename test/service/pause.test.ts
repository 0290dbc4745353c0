import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { pause } from "../../src/service/base/pause.ts";
import { ManualClock } from "../../world/clock/manual-clock.ts";

it("waits by the clock, ends with the signal, and leaves nothing behind on either", async () => {
  const clock = new ManualClock();
  const stop = new AbortController();
  const over = pause(clock, 1000, stop.signal);
  clock.advance(999);
  expect(getEventListeners(stop.signal, "abort")).toHaveLength(1);
  clock.advance(1);
  await over;
  expect(getEventListeners(stop.signal, "abort")).toEqual([]);
  const reason = new Error("stopped");
  const cut = pause(clock, 1000, stop.signal);
  stop.abort(reason);
  await expect(cut).rejects.toBe(reason);
  await expect(pause(clock, 1000, stop.signal)).rejects.toBe(reason);
  expect(clock.nextWakeAt()).toBeUndefined();
});
