import { describe, expect, it } from "vitest";
import type { RateLimiter } from "../../src/shared/store/rate-limiter.ts";

/** A rate limiter under test. */
export type RateLimiterSubject = AsyncDisposable & {
  /** The rate limiter that is open now. After `reopen` it is another one. */
  readonly rateLimiter: RateLimiter;
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

/** Takes a gate's next time, or uses the one that is held. Resolves to it. */
async function reserveIn(
  { rateLimiter }: RateLimiterSubject,
  {
    gate = "a",
    rate = everySecond,
    held,
  }: { gate?: string; rate?: { gapMs: number; burst?: number }; held?: number | undefined } = {},
): Promise<number> {
  return (await rateLimiter.reserve(gate, rate, held)).at;
}

/** Tests what any rate limiter must do. `open` opens an empty one. */
export function describeRateLimiter(name: string, open: () => Promise<RateLimiterSubject>): void {
  describe(`${name}: times that are reserved`, () => {
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
      const times = await Promise.all(Array.from({ length: 200 }, () => reserveIn(subject)));
      expect(times).toEqual(Array.from({ length: 200 }, (_, n) => start + n * 1_000));
    });

    it("are of one gate each", async () => {
      await using subject = await open();
      await reserveIn(subject);
      await subject.rateLimiter.postpone("a", subject.now() + HOUR_MS);
      expect(await reserveIn(subject, { gate: "b" })).toBe(subject.now());
    });

    it("are given several at once where a burst is allowed, as many as were saved up", async () => {
      await using subject = await open();
      const start = subject.now();
      const reserve = async (count: number) => {
        const times: number[] = [];
        for (let n = 0; n < count; n += 1) {
          times.push((await reserveIn(subject, { rate: { ...everySecond, burst: 3 } })) - start);
        }
        return times;
      };
      expect(await reserve(5)).toEqual([0, 0, 0, 1_000, 2_000]);
      subject.advance(4_000);
      expect(await reserve(3)).toEqual([4_000, 4_000, 5_000]);
      subject.advance(HOUR_MS);
      expect((await reserve(4)).map((time) => time - HOUR_MS - 4_000)).toEqual([0, 0, 0, 1_000]);
    });

    it("are whole milliseconds, and no more than the rate allows", async () => {
      await using subject = await open();
      const start = subject.now();
      const times: number[] = [];
      for (let n = 0; n < 300; n += 1) {
        times.push(await reserveIn(subject, { rate: { gapMs: 1_000 / 3 } }));
      }
      expect(times.every(Number.isInteger)).toBe(true);
      expect(times.at(-1)).toBe(Math.ceil(start + (299 * 1_000) / 3));
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
        for (const time of held) {
          const now = subject.now();
          const given = await reserve(time);
          if (given <= now) uses.push(now);
          else later.push(given);
        }
        // A newcomer doesn't get a time in between, either.
        if (uses.length === 1) expect(await reserve()).toBe(subject.now() + 1_000);
        held = later;
        subject.advance(1_000);
      }
      expect(uses.map((at) => at - (uses[0] ?? 0))).toEqual([0, 1_000, 2_000]);
    });

    it("are given to what can be left out only while nobody else has or waits for one", async () => {
      await using subject = await open();
      const { rateLimiter } = subject;
      const rate = { gapMs: SECOND_MS, burst: 3 };
      const take = async () => (await rateLimiter.takeIfIdle("a", rate)) !== null;
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
      await rateLimiter.postpone("a", subject.now() + MINUTE_MS);
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
      expect(await subject.rateLimiter.takeIfIdle("a", everySecond)).toBeNull();
      subject.advance(1);
      expect(await subject.rateLimiter.takeIfIdle("a", everySecond)).not.toBeNull();
    });

    it("are none before the time to which the gate was postponed", async () => {
      await using subject = await open();
      const reserve = (held?: number) => reserveIn(subject, { held });
      const until = subject.now() + MINUTE_MS;
      const before = [await reserve(), await reserve()];
      await subject.rateLimiter.postpone("a", until);
      expect(await reserve()).toBe(until);
      for (const [n, held] of before.entries()) expect(await reserve(held)).toBe(until + (n + 1) * 1_000);
      await subject.rateLimiter.postpone("a", until - SECOND_MS);
      expect(await reserve()).toBe(until + 3_000);
    });

    it("are good again when the gate opens, which takes none", async () => {
      await using subject = await open();
      const { rateLimiter } = subject;
      await reserveIn(subject);
      expect(await rateLimiter.openAt("a")).toBe(subject.now());
      const until = subject.now() + MINUTE_MS;
      await rateLimiter.postpone("a", until);
      for (let n = 0; n < 3; n += 1) expect(await rateLimiter.openAt("a")).toBe(until);
      expect(await rateLimiter.openAt("b")).toBe(subject.now());
      expect(await reserveIn(subject)).toBe(until);
      subject.advance(MINUTE_MS);
      expect(await rateLimiter.openAt("a")).toBe(subject.now());
    });

    it("stay good behind the time to which the gate was postponed", async () => {
      await using subject = await open();
      const times: number[] = [];
      for (let n = 0; n < 10; n += 1) times.push(await reserveIn(subject));
      await subject.rateLimiter.postpone("a", times[5] ?? 0);
      for (const held of times.slice(5)) expect(await reserveIn(subject, { held })).toBe(held);
    });

    it("begin with a burst again after the gate was postponed", async () => {
      await using subject = await open();
      const until = subject.now() + MINUTE_MS;
      await subject.rateLimiter.postpone("a", until);
      const times: number[] = [];
      for (let n = 0; n < 3; n += 1) {
        times.push(await reserveIn(subject, { rate: { ...everySecond, burst: 2 } }));
      }
      expect(times).toEqual([until, until, until + 1_000]);
    });
  });

  describe(`${name}: what outlasts a process`, () => {
    it("holds after a restart what was reserved and postponed", async () => {
      await using subject = await open();
      const start = subject.now();
      for (let n = 0; n < 5; n += 1) await reserveIn(subject);
      await subject.rateLimiter.postpone("b", start + HOUR_MS);

      await subject.reopen();
      expect(await reserveIn(subject, { held: start + 4_000 })).toBe(start + 4_000);
      expect(await reserveIn(subject)).toBe(start + 5_000);
      expect(await reserveIn(subject, { gate: "b" })).toBe(start + HOUR_MS);
    });

    it("makes nobody wait for a clock that was set back", async () => {
      await using subject = await open();
      const reserve = (gate: string, held?: number) => reserveIn(subject, { gate, held });
      const held = [await reserve("a"), await reserve("a"), await reserve("a")];
      await subject.rateLimiter.postpone("b", subject.now() + MINUTE_MS);

      subject.setBack(HOUR_MS);
      const now = subject.now();
      expect(await reserve("a")).toBe(now + 3_000);
      // The holder of a time keeps it, or gets another one if it was counted by the old clock.
      for (const [n, time] of held.entries()) {
        expect(await reserve("a", time)).toBeLessThanOrEqual(now + (n + 4) * 1_000);
      }
      expect(await reserve("b")).toBe(now + MINUTE_MS);
    });
  });

  describe(`${name}: what is forgotten`, () => {
    it("is the gates of one id, also after a restart", async () => {
      await using subject = await open();
      const gates = ["person:T1:U1", "post:T1:U1", "person:T1:U11", "U1"];
      for (const gate of gates) await subject.rateLimiter.postpone(gate, subject.now() + HOUR_MS);
      await subject.rateLimiter.forget("U1");
      const wait = async (gate: string) => (await subject.rateLimiter.openAt(gate)) - subject.now();
      expect(await Promise.all(gates.map(wait))).toEqual([0, 0, HOUR_MS, HOUR_MS]);
      await subject.reopen();
      expect(await Promise.all(gates.map(wait))).toEqual([0, 0, HOUR_MS, HOUR_MS]);
    });
  });
}
