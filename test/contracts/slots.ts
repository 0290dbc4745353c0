import { describe, expect, it } from "vitest";
import type { RateLimiter } from "../../src/shared/store/rate-limiter.ts";

/** A rate limiter under test. */
export type SlotsSubject = AsyncDisposable & {
  /** The rate limiter that is open now. After `reopen` it is another one. */
  readonly slots: RateLimiter;
  now(): number;
  advance(ms: number): void;
  /** Sets the machine's clock back by this time, as the app would notice it. */
  setBack(byMs: number): void;
  /**
   * Brings everything that was asked so far to the disk, and opens the same data with a new
   * process.
   */
  reopen(): Promise<void>;
};

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const everySecond = { gapMs: SECOND_MS };

/** Takes a gate's next slot, or uses the one that is held. Resolves to the slot's time. */
async function reserveIn(
  { slots }: SlotsSubject,
  {
    gate = "a",
    rate = everySecond,
    held,
  }: { gate?: string; rate?: { gapMs: number; burst?: number }; held?: number | undefined } = {},
): Promise<number> {
  return (await slots.reserve(gate, rate, held)).at;
}

/** Tests what any rate limiter must do. `open` opens an empty one. */
export function describeSlots(name: string, open: () => Promise<SlotsSubject>): void {
  describe(`${name}: slots that are reserved`, () => {
    it("are given first come, first served, one per gap, at once where the gate is free", async () => {
      await using subject = await open();
      const start = subject.now();
      const reserve = () => reserveIn(subject);
      expect([await reserve(), await reserve(), await reserve()]).toEqual([
        start,
        start + 1_000,
        start + 2_000,
      ]);
      subject.advance(2_500);
      expect(await reserve()).toBe(start + 3_000);
      subject.advance(MINUTE_MS);
      expect(await reserve()).toBe(subject.now());
      expect(await reserve()).toBe(subject.now() + 1_000);
    });

    it("are given to 200 that ask at once, each its own, in the order they asked", async () => {
      await using subject = await open();
      const start = subject.now();
      const slots = await Promise.all(Array.from({ length: 200 }, () => reserveIn(subject)));
      expect(slots).toEqual(Array.from({ length: 200 }, (_, n) => start + n * 1_000));
    });

    it("are of one gate each", async () => {
      await using subject = await open();
      await reserveIn(subject);
      await subject.slots.postpone("a", subject.now() + HOUR_MS);
      expect(await reserveIn(subject, { gate: "b" })).toBe(subject.now());
    });

    it("are given several at once where a burst is allowed, as many as were saved up", async () => {
      await using subject = await open();
      const start = subject.now();
      const reserve = async (count: number) => {
        const slots: number[] = [];
        for (let n = 0; n < count; n += 1) {
          slots.push((await reserveIn(subject, { rate: { ...everySecond, burst: 3 } })) - start);
        }
        return slots;
      };
      expect(await reserve(5)).toEqual([0, 0, 0, 1_000, 2_000]);
      subject.advance(4_000);
      expect(await reserve(3)).toEqual([4_000, 4_000, 5_000]);
      subject.advance(HOUR_MS);
      expect((await reserve(4)).map((slot) => slot - HOUR_MS - 4_000)).toEqual([0, 0, 0, 1_000]);
    });

    it("are whole milliseconds, and no more than the rate allows", async () => {
      await using subject = await open();
      const start = subject.now();
      const slots: number[] = [];
      for (let n = 0; n < 300; n += 1) {
        slots.push(await reserveIn(subject, { rate: { gapMs: 1_000 / 3 } }));
      }
      expect(slots.every(Number.isInteger)).toBe(true);
      expect(slots.at(-1)).toBe(Math.ceil(start + (299 * 1_000) / 3));
    });

    it("are kept by who holds one, and nobody else is given less for it", async () => {
      await using subject = await open();
      const reserve = (held?: number) => reserveIn(subject, { held });
      await reserve();
      const held = await reserve();
      expect(await reserve(held)).toBe(held);
      subject.advance(1_000);
      expect(await reserve()).toBe(held + 1_000);
      subject.advance(500);
      expect(await reserve(held)).toBe(held);
    });

    it("are used a gap apart by those who come late together", async () => {
      await using subject = await open();
      const reserve = (held?: number) => reserveIn(subject, { held });
      let held = [await reserve(), await reserve(), await reserve(), await reserve()].slice(1);
      subject.advance(4_000);
      const uses: number[] = [];
      while (held.length > 0) {
        const later: number[] = [];
        for (const slot of held) {
          const now = subject.now();
          const given = await reserve(slot);
          if (given <= now) uses.push(now);
          else later.push(given);
        }
        // A newcomer doesn't get a slot in between, either.
        if (uses.length === 1) expect(await reserve()).toBe(subject.now() + 1_000);
        held = later;
        subject.advance(1_000);
      }
      expect(uses.map((at) => at - (uses[0] ?? 0))).toEqual([0, 1_000, 2_000]);
    });

    it("are given to what can be left out only while nobody else has or waits for one", async () => {
      await using subject = await open();
      const { slots } = subject;
      const rate = { gapMs: SECOND_MS, burst: 3 };
      const take = async () => (await slots.takeIfIdle("a", rate)) !== null;
      expect([await take(), await take()]).toEqual([true, false]);
      // The others can still use all of the burst but one.
      const start = subject.now();
      const others = [await reserveIn(subject, { rate }), await reserveIn(subject, { rate })];
      expect(others).toEqual([start, start]);
      expect(await reserveIn(subject, { rate })).toBe(start + SECOND_MS);
      subject.advance(4 * SECOND_MS - 1);
      expect(await take()).toBe(false);
      subject.advance(1);
      expect(await take()).toBe(true);
      await slots.postpone("a", subject.now() + MINUTE_MS);
      subject.advance(MINUTE_MS - 1);
      expect(await take()).toBe(false);
      subject.advance(1);
      expect(await take()).toBe(true);
    });

    it("are none for what can be left out right after one was used late", async () => {
      await using subject = await open();
      await reserveIn(subject);
      const held = await reserveIn(subject);
      subject.advance(3 * SECOND_MS);
      expect(await reserveIn(subject, { held })).toBe(held);
      subject.advance(SECOND_MS - 1);
      expect(await subject.slots.takeIfIdle("a", everySecond)).toBeNull();
      subject.advance(1);
      expect(await subject.slots.takeIfIdle("a", everySecond)).not.toBeNull();
    });

    it("are none before the time to which the gate was postponed", async () => {
      await using subject = await open();
      const reserve = (held?: number) => reserveIn(subject, { held });
      const until = subject.now() + MINUTE_MS;
      const before = [await reserve(), await reserve()];
      await subject.slots.postpone("a", until);
      expect(await reserve()).toBe(until);
      for (const [n, held] of before.entries()) expect(await reserve(held)).toBe(until + (n + 1) * 1_000);
      await subject.slots.postpone("a", until - SECOND_MS);
      expect(await reserve()).toBe(until + 3_000);
    });

    it("are good again when the gate opens, which takes none", async () => {
      await using subject = await open();
      const { slots } = subject;
      await reserveIn(subject);
      expect(await slots.openAt("a")).toBe(subject.now());
      const until = subject.now() + MINUTE_MS;
      await slots.postpone("a", until);
      for (let n = 0; n < 3; n += 1) expect(await slots.openAt("a")).toBe(until);
      expect(await slots.openAt("b")).toBe(subject.now());
      expect(await reserveIn(subject)).toBe(until);
      subject.advance(MINUTE_MS);
      expect(await slots.openAt("a")).toBe(subject.now());
    });

    it("stay good behind the time to which the gate was postponed", async () => {
      await using subject = await open();
      const slots: number[] = [];
      for (let n = 0; n < 10; n += 1) slots.push(await reserveIn(subject));
      await subject.slots.postpone("a", slots[5] ?? 0);
      for (const held of slots.slice(5)) expect(await reserveIn(subject, { held })).toBe(held);
    });

    it("begin with a burst again after the gate was postponed", async () => {
      await using subject = await open();
      const until = subject.now() + MINUTE_MS;
      await subject.slots.postpone("a", until);
      const slots: number[] = [];
      for (let n = 0; n < 3; n += 1) {
        slots.push(await reserveIn(subject, { rate: { ...everySecond, burst: 2 } }));
      }
      expect(slots).toEqual([until, until, until + 1_000]);
    });
  });

  describe(`${name}: what outlasts a process`, () => {
    it("holds after a restart what was reserved and postponed", async () => {
      await using subject = await open();
      const start = subject.now();
      for (let n = 0; n < 5; n += 1) await reserveIn(subject);
      await subject.slots.postpone("b", start + HOUR_MS);

      await subject.reopen();
      expect(await reserveIn(subject, { held: start + 4_000 })).toBe(start + 4_000);
      expect(await reserveIn(subject)).toBe(start + 5_000);
      expect(await reserveIn(subject, { gate: "b" })).toBe(start + HOUR_MS);
    });

    it("makes nobody wait for a clock that was set back", async () => {
      await using subject = await open();
      const reserve = (gate: string, held?: number) => reserveIn(subject, { gate, held });
      const held = [await reserve("a"), await reserve("a"), await reserve("a")];
      await subject.slots.postpone("b", subject.now() + MINUTE_MS);

      subject.setBack(HOUR_MS);
      const now = subject.now();
      expect(await reserve("a")).toBe(now + 3_000);
      // The holder of a slot keeps it, or gets another one if it was counted by the old clock.
      for (const [n, slot] of held.entries()) {
        expect(await reserve("a", slot)).toBeLessThanOrEqual(now + (n + 4) * 1_000);
      }
      expect(await reserve("b")).toBe(now + MINUTE_MS);
    });
  });
}
