import { expect, it } from "vitest";
import { openSqliteStore, type SqliteStore } from "../../../src/shared/store/sqlite/open-sqlite-store.ts";
import { APP_MIGRATIONS } from "../../../src/shared/store/sqlite/migrations.ts";
import { openSqliteDatabase } from "../../../src/shared/store/sqlite/sqlite-database.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { openTempDir } from "../../support/temp-dir.ts";
import { type AppRecords, recordSchemas } from "../../../src/app/rules/records.ts";

async function openMemory() {
  const clock = new ManualClock();
  return {
    clock,
    store: await openSqliteStore({
      schemas: recordSchemas,
      url: "memory://",
      clock,
      logger: new RecordingLogger(),
    }),
  };
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

it("reads the same before and after a crash, before its entries are listed by name and after", async () => {
  await using dir = await openTempDir();
  const clock = new ManualClock();
  const open = () =>
    openSqliteStore({
      schemas: recordSchemas,
      url: `sqlite://${dir.file("store.sqlite")}`,
      clock,
      logger: new RecordingLogger(),
    });
  async function append(store: SqliteStore<AppRecords>, series: string, ...entries: string[]) {
    await store.commits.run(() => {
      for (const entry of entries) store.decided.append({ series, entry, keep: 3, ttlMs: 9000 });
    });
  }
  const entriesIn = ({ db }: SqliteStore<AppRecords>) =>
    db.prepare("SELECT group_concat(entry) AS entries FROM series").get();
  {
    await using store = await open();
    await append(store, "a", "1", "2");
    await append(store, "a", "3", "4");
    await append(store, "b", "x");
    expect(await store.series.of("a")).toEqual(["2", "3", "4"]);
  }
  await using store = await open();
  expect(await store.series.of("a")).toEqual(["2", "3", "4"]);
  await append(store, "a", "5");
  expect(await store.series.of("a")).toEqual(["3", "4", "5"]);
  await store.commits.run(() => store.sweep());
  expect(await store.series.of("a")).toEqual(["3", "4", "5"]);
  expect(await store.series.of("b")).toEqual(["x"]);
  expect(entriesIn(store)).toEqual({ entries: "3,4,x,5" });
});

it("has what an append left whose commit failed neither in the file nor in a series", async () => {
  const { store } = await openMemory();
  await using _store = store;
  const append = (entry: string) => store.decided.append({ series: "a", entry, keep: 9, ttlMs: 9000 });
  await store.commits.run(() => append("1"));
  const failing = store.commits.run(() => {
    append("2");
    throw new Error("undone");
  });
  await expect(failing).rejects.toThrow("undone");
  await store.commits.run(() => append("3"));
  expect(await store.series.of("a")).toEqual(["1", "3"]);
});

it("goes on with the entries of a file of the first schema", async () => {
  await using dir = await openTempDir();
  const clock = new ManualClock();
  const path = dir.file("store.sqlite");
  const first = await openSqliteDatabase({ path }, { clock, migrations: APP_MIGRATIONS.slice(0, 1) });
  const insert = first.db.prepare("INSERT INTO series (name, entry, expires_at) VALUES ('a', ?, ?)");
  for (const entry of ["1", "2"]) insert.run(entry, clock.now() + 9000);
  first.close();
  await using store = await openSqliteStore({
    schemas: recordSchemas,
    url: `sqlite://${path}`,
    clock,
    logger: new RecordingLogger(),
  });
  expect(await store.series.of("a")).toEqual(["1", "2"]);
  const append = () => store.decided.append({ series: "a", entry: "3", keep: 2, ttlMs: 9000 });
  await store.commits.run(append);
  expect(await store.series.of("a")).toEqual(["2", "3"]);
  await store.commits.run(() => store.sweep());
  expect(await store.series.of("a")).toEqual(["2", "3"]);
});
