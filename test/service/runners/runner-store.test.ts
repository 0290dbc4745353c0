import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { openServiceDatabase } from "../../../src/service/jobs/state-file.ts";
import { mayRun, runnerState } from "../../../src/service/runners/runner-rules.ts";
import { RunnerStore } from "../../../src/service/jobs/runner-store.ts";
import { ManualClock } from "../../../world/clock/manual-clock.ts";
import { makeServiceProject } from "../../support/service-project.ts";
import { openTempDir } from "../../support/temp-dir.ts";

const SAYS = { version: "1.2.0", protocol: 1, session: "s1", labels: ["large"], places: 4, free: 4 };

async function openStore() {
  const dir = await openTempDir();
  const database = await openServiceDatabase({ dataDir: dir.path }, { clock: new ManualClock() });
  const store = new RunnerStore(database.db);
  let isOpen = true;
  const close = () => {
    if (isOpen) database.close();
    isOpen = false;
  };
  return {
    store,
    db: database.db,
    file: dir.file("job-service.sqlite"),
    close,
    /** Adds a runner for all projects. */
    add(name: string, nowMs = 0) {
      const added = store.add({ keyPrefix: "docsagent", name, projects: null, nowMs });
      if (added === null) throw new Error(`There is a runner ${name} already`);
      return added;
    },
    async [Symbol.asyncDispose]() {
      close();
      await dir[Symbol.asyncDispose]();
    },
  };
}

it("gives out tokens that are long, random and shown once; only a hash is stored", async () => {
  await using subject = await openStore();
  const { store, db, file } = subject;
  const added = Array.from({ length: 50 }, (_, index) => subject.add(`build-${index}`));
  for (const { token } of added) expect(token).toMatch(/^docsagent_runner_[\w-]{44}$/);
  expect(new Set(added.map(({ token }) => token)).size).toBe(50);
  expect(new Set(added.map(({ id }) => id)).size).toBe(50);
  const [{ id, token } = { id: "", token: "" }] = added;
  const hash = createHash("sha256").update(token).digest("hex");
  expect(db.prepare("SELECT hash, last4 FROM runners WHERE id = ?").get(id)).toEqual({
    hash,
    last4: token.slice(-4),
  });
  expect(JSON.stringify(store.all())).not.toContain(hash);
  subject.close();
  const stored = readFileSync(file, "latin1");
  expect(stored).toContain(hash);
  expect(stored).not.toContain(token.slice("docsagent_runner_".length));
});

it("takes no token for another, and a revoked one from the next call on no more", async () => {
  await using subject = await openStore();
  const { store } = subject;
  const { id, token } = subject.add("build-1");
  expect(store.byToken(token)).toMatchObject({ id, name: "build-1", projects: null, isDraining: false });
  const hash = createHash("sha256").update(token).digest("hex");
  for (const other of [hash, token.slice(0, -1), `${token}x`, token.toUpperCase(), "", "x".repeat(5000)]) {
    expect(store.byToken(other)).toBeNull();
  }
  expect([store.revoke(id, 5), store.revoke(id, 9)]).toEqual([true, false]);
  expect(store.byToken(token)).toBeNull();
  expect(store.byName("build-1")).toBeNull();
  expect(store.all()).toMatchObject([{ id, revokedAt: 5 }]);
});

it("gives a name to one runner at a time, and again after it was revoked", async () => {
  await using subject = await openStore();
  const { store, db } = subject;
  const first = subject.add("build-1");
  expect(store.add({ keyPrefix: "docsagent", name: "build-1", projects: ["docs"], nowMs: 1 })).toBeNull();
  // Whatever the program does: the file holds it, too.
  const insert = db.prepare(
    "INSERT INTO runners (id, name, projects, hash, last4, created_at) VALUES ('r', 'build-1', 'null', 'h', 'l', 1)",
  );
  expect(() => insert.run()).toThrow(/UNIQUE/);
  store.revoke(first.id, 2);
  const second = store.add({ keyPrefix: "docsagent", name: "build-1", projects: ["docs"], nowMs: 3 });
  expect(store.byName("build-1")).toMatchObject({ id: second?.id, projects: ["docs"] });
  expect(store.all().map(({ revokedAt }) => revokedAt)).toEqual([2, null]);
});

it("drains and resumes", async () => {
  await using subject = await openStore();
  const { store } = subject;
  const { id, token } = subject.add("build-1");
  expect([store.setDraining(id, true), store.setDraining(id, true)]).toEqual([true, false]);
  expect(store.byToken(token)?.isDraining).toBe(true);
  expect([store.setDraining(id, false), store.setDraining(id, false)]).toEqual([true, false]);
  expect(store.byToken(token)?.isDraining).toBe(false);
});

it("writes what a runner says at once if it is new, and its time alone every ten seconds", async () => {
  await using subject = await openStore();
  const { store } = subject;
  const { id } = subject.add("build-1");
  const other = subject.add("build-2");
  const seen = () => store.all().find((row) => row.id === id);
  expect(seen()).toMatchObject({ seenAt: null, version: null, labels: [], places: null, free: null });
  store.saw(id, SAYS, 1000);
  expect(seen()).toMatchObject({ seenAt: 1000, ...SAYS });
  store.saw(id, { ...SAYS }, 10_999);
  expect(seen()?.seenAt).toBe(1000);
  store.saw(other.id, SAYS, 10_999);
  store.saw(id, { ...SAYS }, 11_000);
  expect(seen()?.seenAt).toBe(11_000);
  store.saw(id, { ...SAYS, free: 3 }, 11_001);
  expect(seen()).toMatchObject({ seenAt: 11_001, free: 3 });
  // Somebody set the clock back.
  store.saw(id, { ...SAYS, free: 3 }, 500);
  expect(seen()?.seenAt).toBe(500);
  expect(store.all().find((row) => row.id === other.id)?.seenAt).toBe(10_999);
});

it("waits for the disk with no word of a runner, and with each change of a person", async () => {
  await using subject = await openStore();
  const { store, db } = subject;
  const { id } = subject.add("build-1");
  const synchronous = () => Number(Object.values(db.prepare("PRAGMA synchronous").get() ?? {})[0]);
  const FULL = 2;
  const during: number[] = [];
  db.function("level", () => {
    during.push(synchronous());
    return 0;
  });
  db.exec("CREATE TEMP TRIGGER watch AFTER UPDATE ON runners BEGIN SELECT level(); END");
  store.saw(id, SAYS, 1);
  store.setDraining(id, true);
  store.revoke(id, 2);
  expect(during).toEqual([1, FULL, FULL]);
  expect(synchronous()).toBe(FULL);
});

it("knows a runner as ready, draining, away or revoked", () => {
  const row = { revokedAt: null, seenAt: 1000, isDraining: false };
  expect(runnerState(row, 61_000)).toBe("ready");
  expect(runnerState({ ...row, isDraining: true }, 61_000)).toBe("draining");
  expect(runnerState({ ...row, isDraining: true }, 61_001)).toBe("away");
  expect(runnerState({ ...row, seenAt: null }, 0)).toBe("away");
  expect(runnerState({ ...row, revokedAt: 5 }, 1000)).toBe("revoked");
});

it.each([
  [null, [], [], true],
  [["docs", "api"], [], ["any"], true],
  [["api"], [], [], false],
  [[], [], [], false],
  [null, ["large"], [], false],
  [null, ["large"], ["large", "eu"], true],
  [null, ["large", "eu"], ["large"], false],
  [["api"], ["large"], ["large"], false],
])("of projects %j, wanting %j: a runner with %j may run docs: %j", (projects, wanted, labels, may) => {
  const project = makeServiceProject({ runners: { labels: wanted } });
  expect(mayRun({ projects, labels }, project)).toBe(may);
});
