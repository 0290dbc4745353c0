import { EventEmitter } from "node:events";
import { expect, it } from "vitest";
import { onStopSignal } from "../../../../src/shared/machine/stop-signals.ts";

it("takes a signal that npm passed on once more for the same one, and a later one for another", () => {
  const signals = new EventEmitter();
  let nowMs = 0;
  const taken: string[] = [];
  onStopSignal(
    (signal) => taken.push(`${signal} at ${nowMs}`),
    signals as unknown as NodeJS.Process,
    () => nowMs,
  );
  for (const atMs of [0, 6, 499, 500, 501]) {
    nowMs = atMs;
    signals.emit("SIGINT");
  }
  signals.emit("SIGTERM");
  expect(taken).toEqual(["SIGINT at 0", "SIGINT at 500", "SIGTERM at 501"]);
});
