import { expect, it } from "vitest";
import { openStore } from "../../src/store/open-store.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { RecordingLogger } from "../support/recording-logger.ts";

async function openMemory() {
  const clock = new ManualClock();
  return { clock, store: await openStore({ url: "memory://", clock, logger: new RecordingLogger() }) };
}

it("forgets an entry when its time is over, and its row with the next sweep", async () => {
  const { clock, store } = await openMemory();
  await using _store = store;
  const append = (entry: string, ttlMs: number) =>
    store.commits.run(() => store.decided.append({ series: "a", entry, keep: 9, ttlMs }));
  await append("1", 1000);
  await append("2", 2000);
  clock.advance(1000);
  expect(await store.series.of("a")).toEqual(["2"]);
  await store.commits.run(() => store.sweep());
  expect(store.db.prepare("SELECT entry FROM series").all()).toEqual([{ entry: "2" }]);
});

it("forgets what is over behind any number of older entries that are kept", async () => {
  const { clock, store } = await openMemory();
  await using _store = store;
  const append = (n: number, ttlMs: number) =>
    store.decided.append({ series: `kept-${n}`, entry: "1", keep: 9, ttlMs });
  await store.commits.run(() => {
    for (let n = 0; n < 1200; n += 1) append(n, 9000);
    append(1200, 1000);
  });
  clock.advance(1000);
  const rows = () => store.db.prepare("SELECT count(*) AS n FROM series").get();
  for (let n = 0; n < 3; n += 1) await store.commits.run(() => store.sweep());
  expect(rows()).toEqual({ n: 1200 });
  clock.advance(8000);
  for (let n = 0; n < 3; n += 1) await store.commits.run(() => store.sweep());
  expect(rows()).toEqual({ n: 0 });
});
