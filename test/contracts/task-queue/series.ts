import { expect, it } from "vitest";
import { LimitReachedError } from "../../../src/shared/errors.ts";
import { ScriptedHandler } from "../../support/scripted-handler.ts";
import type { TaskQueueSubject } from "../task-queue.ts";
import { MINUTE_MS, task } from "./task.ts";
import type { Append } from "../../../src/shared/store/series.ts";

function append(series: string, entry: string, keep = 100): Append {
  return { series, entry, keep, ttlMs: MINUTE_MS };
}

/** Tests a series that many decisions append to and none of them reads. */
export function describeSeries(open: () => Promise<TaskQueueSubject>): void {
  it("holds what was appended, oldest first, each series on its own, also after a crash", async () => {
    await using subject = await open();
    expect(await subject.series.of("a")).toEqual([]);
    await subject.queue.commit(() => ({ appends: [append("a", "1"), append("a:b", "x")], value: null }));
    await subject.queue.commit(() => ({ appends: [append("a", "2"), append("a", "1")], value: null }));
    await subject.reopen();
    expect(await subject.series.of("a")).toEqual(["1", "2", "1"]);
    expect(await subject.series.of("a:b")).toEqual(["x"]);
  });

  it("loses nothing of those who append at the same time, and asks nobody to decide again", async () => {
    await using subject = await open();
    const all = Array.from({ length: 50 }, (_, n) => String(n));
    let decided = 0;
    const commits = all.map((entry) =>
      subject.queue.commit(() => {
        decided += 1;
        return { appends: [append("a", entry)], value: null };
      }),
    );
    await Promise.all(commits);
    expect(await subject.series.of("a")).toEqual(all);
    expect(decided).toBe(all.length);
  });

  it("keeps as many as the newest append says", async () => {
    await using subject = await open();
    const appends = ["1", "2", "3", "4"].map((entry) => append("a", entry, 3));
    await subject.queue.commit(() => ({ appends: [...appends, append("b", "1", 1)], value: null }));
    expect(await subject.series.of("a")).toEqual(["2", "3", "4"]);
    await subject.queue.commit(() => ({ appends: [append("a", "5", 2)], value: null }));
    expect(await subject.series.of("a")).toEqual(["4", "5"]);
    expect(await subject.series.of("b")).toEqual(["1"]);
  });

  it("is appended to with the end of a run, and not by a decision that isn't carried out", async () => {
    await using subject = await open();
    const handler = new ScriptedHandler();
    handler.on("x", () => () => ({ appends: [append("a", "1")], value: { kind: "done" } }));
    await subject.queue.add(task("x"));
    subject.queue.start(handler.handle);
    await subject.idle();
    const limit = { gate: "g", limit: 1, windowMs: MINUTE_MS };
    const commit = (entry: string) =>
      subject.queue.commit(() => ({ appends: [append("a", entry)], within: [limit], value: null }));
    await commit("2");
    await expect(commit("3")).rejects.toBeInstanceOf(LimitReachedError);
    expect(await subject.series.of("a")).toEqual(["1", "2"]);
  });

  it("is removed whole, and begins anew", async () => {
    await using subject = await open();
    const commit = (entry: string) =>
      subject.queue.commit(() => ({ appends: [append("a", entry), append("b", entry)], value: null }));
    await commit("1");
    await subject.series.remove("a");
    expect([await subject.series.of("a"), await subject.series.of("b")]).toEqual([[], ["1"]]);
    await commit("2");
    await subject.reopen();
    expect([await subject.series.of("a"), await subject.series.of("b")]).toEqual([["2"], ["1", "2"]]);
  });
}
