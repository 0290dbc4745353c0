import { expect, it } from "vitest";
import type { Decision } from "../../../src/app/rules/records.ts";
import { LimitReachedError } from "../../../src/shared/errors.ts";
import type { TaskQueueSubject } from "../task-queue.ts";
import { HOUR_MS, MINUTE_MS, task } from "./task.ts";
import type { Limit } from "../../../src/shared/store/rate-limiter.ts";

/**
 * Tries a commit with these limits. Resolves to null if it was carried out, or else to the gate
 * that had no room and the time when it has room.
 */
async function take(
  { queue }: TaskQueueSubject,
  within: Limit[],
  plan: Omit<ReturnType<Decision<null>>, "value"> = {},
): Promise<[gate: string, againAtMs: number] | null> {
  try {
    await queue.commit(() => ({ ...plan, within, value: null }));
    return null;
  } catch (thrown) {
    if (!(thrown instanceof LimitReachedError)) throw thrown;
    return [thrown.gate, thrown.againAtMs];
  }
}

/** Tests what any queue must do with the limits of a plan. */
export function describeLimits(open: () => Promise<TaskQueueSubject>): void {
  const ofA = (limit: number, windowMs = HOUR_MS) => ({ gate: "a", limit, windowMs });

  it("let as many through at once as they say, and say when the next will be", async () => {
    await using subject = await open();
    const takeOne = () => take(subject, [ofA(6)]);
    const taken = await Promise.all(Array.from({ length: 10 }, takeOne));
    const next = ["a", subject.now() + HOUR_MS / 6];
    expect(taken).toEqual([...Array.from({ length: 6 }, () => null), next, next, next, next]);

    subject.advance(HOUR_MS / 6 - 2);
    expect(await takeOne()).toEqual(next);
    subject.advance(2);
    expect(await takeOne()).toBeNull();
    expect(await takeOne()).toEqual(["a", subject.now() + HOUR_MS / 6]);
    subject.advance(HOUR_MS);
    expect(await Promise.all(Array.from({ length: 7 }, takeOne))).toEqual([
      ...Array.from({ length: 6 }, () => null),
      ["a", subject.now() + HOUR_MS / 6],
    ]);
  });

  it.each([1, 7, 900])("let %i through in a window, and not one more", async (limit) => {
    await using subject = await open();
    const takeOne = () => take(subject, [ofA(limit, MINUTE_MS)]);
    const all = await Promise.all(Array.from({ length: limit + 5 }, takeOne));
    expect(all.filter((answer) => answer === null)).toHaveLength(limit);
    const [, againAtMs] = (await takeOne()) ?? ["a", 0];
    subject.advance(againAtMs - subject.now());
    expect(await takeOne()).toBeNull();
  });

  it("have nothing done and nothing counted when one of several has no room", async () => {
    await using subject = await open();
    const ofB = { gate: "b", limit: 1, windowMs: HOUR_MS };
    expect(await take(subject, [ofA(2), ofB], { adds: [task("first")] })).toBeNull();
    const before = await subject.queue.counts();
    for (let n = 0; n < 3; n += 1) {
      const answer = await take(subject, [ofA(2), ofB], { adds: [task("second")] });
      expect(answer).toEqual(["b", subject.now() + HOUR_MS]);
    }
    expect(await subject.queue.counts()).toEqual(before);
    expect(await take(subject, [ofA(2)])).toBeNull();
    expect((await take(subject, [ofA(2), ofB]))?.[0]).toBe("a");
  });

  it("count nothing for what could not be written", async () => {
    await using subject = await open();
    const badTask = { ...task("bad"), payload: () => {} };
    await expect(take(subject, [ofA(1)], { adds: [badTask] })).rejects.toBeInstanceOf(TypeError);
    const heal = await subject.failWrites();
    await expect(take(subject, [ofA(1)], { adds: [task("x")] })).rejects.toMatchObject({
      code: "store_unavailable",
    });
    await heal();
    expect(await take(subject, [ofA(1)])).toBeNull();
    expect(await take(subject, [ofA(1)])).not.toBeNull();
  });
}
