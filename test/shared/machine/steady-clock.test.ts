import { describe, expect, it } from "vitest";
import { within } from "../../../src/shared/machine/ports.ts";
import { createSteadyClock } from "../../../src/shared/machine/steady-clock.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

describe("a program's own clock", () => {
  it.each([-25, -1, 1, 25])("goes on as it did when the machine's is set by %i hours", (hours) => {
    const machine = new ManualClock();
    const clock = createSteadyClock(machine);
    const startMs = clock.now();
    machine.advance(MINUTE_MS);
    machine.setTo(machine.now() + hours * HOUR_MS);
    expect(Math.abs(clock.now() - (startMs + MINUTE_MS))).toBeLessThan(100);
    expect(clock.wallMs()).toBe(machine.now());
    let woken = 0;
    clock.wakeAt(clock.now() + HOUR_MS, () => (woken += 1));
    machine.advance(HOUR_MS - 4_000);
    expect(woken).toBe(0);
    machine.advance(8_000);
    expect(woken).toBe(1);
    expect(Math.abs(clock.now() - (startMs + HOUR_MS + MINUTE_MS + 4_000))).toBeLessThan(4_000);
  });

  it("follows the machine's slowly, without ever going back, until they show the same", () => {
    const machine = new ManualClock();
    const clock = createSteadyClock(machine);
    machine.setTo(machine.now() - MINUTE_MS);
    let before = clock.now();
    for (let minute = 0; minute < 1_000; minute += 1) {
      machine.advance(MINUTE_MS);
      const now = clock.now();
      expect(now).toBeGreaterThan(before);
      before = now;
    }
    expect(clock.now()).toBe(machine.now());
  });

  it("calls nobody who has canceled", () => {
    const machine = new ManualClock();
    const clock = createSteadyClock(machine);
    let woken = 0;
    const cancel = clock.wakeAt(clock.now() + HOUR_MS, () => (woken += 1));
    machine.setTo(machine.now() - 25 * HOUR_MS);
    machine.advance(HOUR_MS - 1);
    cancel();
    machine.advance(HOUR_MS);
    expect(woken).toBe(0);
  });

  it("gives a promise as long as it was to have, whatever the machine's shows", async () => {
    const machine = new ManualClock();
    const clock = createSteadyClock(machine);
    const late = within(clock, MINUTE_MS, new Promise<string>(() => {}), "late");
    machine.setTo(machine.now() - HOUR_MS);
    machine.advance(MINUTE_MS);
    expect(await late).toBe("late");
  });
});
