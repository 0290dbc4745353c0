// @module-tag redis-server
import { cpSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { Writable } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { entryRecord } from "../../../src/app/dump/entry-record.ts";
import { type ForgettingStore, forgetInStore } from "../../../src/app/dump/forget.ts";
import { createStateProgram } from "../../../src/app/dump/program.ts";
import { openRedisSide } from "../../../src/app/dump/redis-side.ts";
import { readSqliteSide } from "../../../src/app/dump/sqlite-side.ts";
import { recordSchemas } from "../../../src/app/rules/records.ts";
import type { Turn } from "../../../src/app/rules/turn/turn.ts";
import type { Clock } from "../../../src/shared/machine/ports.ts";
import { AppProcess } from "../../support/app-process.ts";
import { makeTurn } from "../../support/builders.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { type RedisServer, startRedisServer } from "../../support/redis-server.ts";
import { openRedisClient, redisPrefix, textOfKeys } from "../../support/redis.ts";
import { dumpOf } from "../../support/state.ts";
import {
  ANA,
  BEN,
  clock,
  endedTurn,
  fill,
  openStored,
  prOf,
  turnsOfAll,
} from "../../support/stored-person.ts";
import { atNight } from "../../support/nightly.ts";
import { isSampled } from "../../support/sampled.ts";
import { openTempDir, type TempDir } from "../../support/temp-dir.ts";
import { PR, ask, jobOf } from "../../support/threads.ts";
import { DOCS, World } from "../../support/world.ts";

let server: RedisServer;
beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const KINDS = ["sqlite", "redis"] as const;
type StoreKind = (typeof KINDS)[number];

function storeOf(kind: StoreKind, dir: TempDir): string {
  return kind === "sqlite" ? dir.file("state.sqlite") : redisPrefix(server.url).url;
}

/** Runs the command as an operator does. Resolves to what it prints. */
function run(store: string, ...args: string[]): Promise<string> {
  return runAt(clock, store, ...args);
}

async function runAt(now: Clock, store: string, ...args: string[]): Promise<string> {
  let printed = "";
  const output = new Writable({
    write(chunk, _encoding, done) {
      printed += String(chunk);
      done();
    },
  });
  const program = createStateProgram({
    clock: now,
    logger: new RecordingLogger(),
    env: { STORE_URL: store.startsWith("redis:") ? store : `sqlite://${store}` },
    input: process.stdin,
    output,
    say: () => {},
    isTerminal: false,
  });
  await program.parseAsync(args, { from: "user" });
  return printed;
}

/** Forgets her until the n-th write, where it breaks off. Resolves to false if it came to its end. */
async function forgetAndDie(store: string, phase: string, at: number): Promise<boolean> {
  await using backend = await openStored(store);
  await using source = store.startsWith("redis:")
    ? await openRedisSide({ url: store, clock, logger: new RecordingLogger() }, false)
    : readSqliteSide(store);
  let writes = 0;
  async function dying<T>(write: () => Promise<T>): Promise<T> {
    writes += 1;
    if (writes === at && phase === "before") throw new Error("killed");
    const done = await write();
    if (writes === at) throw new Error("killed");
    return done;
  }
  const { queue, store: own } = backend;
  const place = {
    source,
    clock,
    queue: { commit: (decide) => dying(() => queue.commit(decide)) },
    store: {
      rateLimiter: own.rateLimiter,
      series: { ...own.series, remove: (name) => dying(() => own.series.remove(name)) },
      setAside: { delete: (key) => dying(() => own.setAside.delete(key)) },
    },
  } satisfies ForgettingStore;
  return await forgetInStore(place, ANA, async () => {}).then(
    () => false,
    (thrown: Error) => {
      expect(thrown.message).toBe("killed");
      return true;
    },
  );
}

/** Everything that is stored, also what a dump leaves out and what was overwritten. */
async function bytesOf(store: string): Promise<string> {
  if (store.startsWith("redis:")) {
    const client = await openRedisClient(server.url);
    return textOfKeys(client, `{${new URL(store).searchParams.get("prefix")}}`).finally(() =>
      client.destroy(),
    );
  }
  const folder = dirname(store);
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name)).toString("latin1"))
    .join("");
}

/** The writes at which it breaks off. There are fewer than that. */
const STEPS = atNight(
  Array.from({ length: 40 }, (_, n) => n + 1),
  [4, 9],
);

/** What others wrote about her stays. */
const OTHERS_WORDS = `as <@${ANA}> said`;

async function expectForgotten(store: string): Promise<void> {
  const bytes = await bytesOf(store);
  expect(bytes).toContain(OTHERS_WORDS);
  expect(bytes.replaceAll(OTHERS_WORDS, "").match(/.{0,60}(?:aardvark|U0ANA).{0,60}/gi)).toBeNull();
}

type Line = { kind: string; id: string; text: string; endedAt?: number; expiresAt?: number };

/** A dump's lines by what they are, without times, of which a run takes its own. */
async function storedIn(store: string): Promise<string[]> {
  const lines = (await dumpOf({ store, clock })).slice(1, -1).map((line) => JSON.parse(line) as Line);
  return lines.map(({ kind, id, text }) => `${kind} ${id} ${text ?? ""}`).toSorted();
}

describe.each(KINDS)("on %s", (kind) => {
  it("removes a person's words, names, files and id, keeps what others typed, and says what stays elsewhere", async () => {
    await using dir = await openTempDir();
    const store = storeOf(kind, dir);
    await fill(store);
    const text = await run(store, "forget", ANA);
    await expectForgotten(store);
    expect(text.split("\n").slice(0, 2)).toEqual([
      "Forgetting what U0ANA asked in 2 turns, and what they wrote in 2 turns of others: words, names and files.",
      "3 jobs, which take no more messages: job-1, job-2, job-4",
    ]);
    expect(text).toContain("  10 messages in 3 threads. Put your workspace's address before these:\n");
    expect(text).toContain("  /archives/C0DOCS/p1700000000000000: 6 messages\n");
    for (const job of ["job-1", "job-2", "job-4"]) expect(text).toContain(`\n  ${prOf(job)}\n`);
    expect(text).not.toContain(prOf("job-3"));
    expect(text).toMatch(/- At the job service: run npm run service -- forget U0ANA there/);
    expect(text).toMatch(/\nForgot U0ANA\.\n$/);

    await using backend = await openStored(store);
    const { records, series } = backend.store;
    const [own, followUp, quoting, naming, again, others] = turnsOfAll();
    const read = (turn = own) => records.get("turn", turn?.id ?? "");
    expect([await read(own), await read(again)]).toEqual([undefined, undefined]);
    // What others typed stays, and all of those that she had no part in.
    const { stage, ...kept } = (await read(followUp)) ?? makeTurn();
    expect(kept).toMatchObject({
      request: { userId: BEN, instructions: "and the FAQ", context: { messages: [{ authorId: BEN }] } },
      job: { status: "archived" },
      followers: ["U0CLEO"],
      votes: { [BEN]: "no" },
      questions: [{ text: "(forgotten)", closed: "elsewhere", shown: "elsewhere" }],
      delivery: { shown: null },
    });
    expect(stage).toMatchObject({ outcome: { job: { status: "archived", prLink: prOf("job-1") } } });
    expect(await read(quoting)).toMatchObject({
      request: { instructions: "fix this", quoted: { ts: "900.000100", authorId: null, authorName: null } },
      files: { sent: [{ id: "F9", name: "bens.png" }] },
    });
    expect(await read(naming)).toMatchObject({ followers: [], job: { status: "completed" } });
    expect((await read(others))?.job?.status).toBe("completed");
    expect(await series.of(`person:T1:${ANA}`)).toEqual([]);
    expect(await series.of(`person:T1:${BEN}`)).toHaveLength(5);
    expect(await records.get("thread", "T1:C0DOCS:1700000000.000000")).toMatchObject({
      turnIds: [followUp?.id],
      muted: [BEN],
    });
    expect(await records.get("draft", "others")).toBeDefined();
    expect(await records.get("reply", "mention:reply:U0BEN")).toBeDefined();
    expect(await records.get("withheld", "T1:C0DOCS:1")).toEqual({ version: 1, messages: ["900.000100"] });
    // The job's pull request that a turn of Ben's left is followed on.
    expect((await backend.queue.counts()).waiting).toBe(8);
    await backend[Symbol.asyncDispose]();
    const left = await storedIn(store);
    expect(left.filter((line) => /^(?:task|done)/.test(line)).map((line) => line.trim())).toEqual([
      "task news:command:3",
      "task news:command:5",
      "task news:form:V2",
      "task news:mention:T1:C0DOCS:1700000000.000900",
      "task reply:mention:11",
      `task watch:${own?.request.project.service} docs job-1`,
      `task watch:${own?.request.project.service} docs job-2`,
      `task welcome:T1:${BEN}`,
    ]);
    // It is all that can be read by its schema.
    for (const line of left.filter((each) => each.startsWith("record "))) {
      const [, name = "", text] = /^record (\w+):.*? (\{"value".*)$/.exec(line) ?? [];
      const { value } = JSON.parse(text ?? "") as { value: unknown };
      expect(recordSchemas[name as keyof typeof recordSchemas].safeParse(value).success).toBe(true);
    }
    await expect(run(store, "forget", ANA)).rejects.toThrow(/^Nothing is stored of U0ANA in /);
  });

  it("is refused while a turn of theirs runs, or one in a job with their words, and then changes nothing", async () => {
    await using dir = await openTempDir();
    const store = storeOf(kind, dir);
    const turns = turnsOfAll();
    const [own, followUp] = turns;
    const open = { ...makeTurn({ id: "command:9" }), delivery: own?.delivery ?? makeTurn().delivery };
    open.request = { ...open.request, id: "command:9", userId: BEN, follows: { turnId: followUp?.id ?? "" } };
    await fill(store, [...turns, open]);
    const before = await storedIn(store);
    await expect(run(store, "forget", ANA)).rejects.toThrow(
      /^A turn of U0ANA, or one in a job with their words, waits or runs: command:9 of U0BEN, in \/archives\/C0DOCS\/p1700000000000000\. Wait for its end or press Stop/,
    );
    expect(await storedIn(store)).toEqual(before);
    await expect(run(store, "forget", "ana@example.com")).rejects.toThrow(/Copy member ID/);
  });

  it("ends the same, whichever commit it broke off before or after", async () => {
    await using dir = await openTempDir();
    const whole = storeOf(kind, dir);
    await fill(whole);
    await run(whole, "forget", ANA);
    const expected = await storedIn(whole);
    const deaths: boolean[] = [];
    for (const at of STEPS) {
      for (const phase of ["before", "after"]) {
        await using other = await openTempDir();
        const store = storeOf(kind, other);
        await fill(store);
        const isDead = await forgetAndDie(store, phase, at);
        deaths.push(isDead);
        const again = run(store, "forget", ANA);
        // Only the look for more is missing after the last write.
        if (isDead) await again.catch((thrown: Error) => expect(thrown.message).toMatch(/^Nothing is/));
        else await expect(again).rejects.toThrow(/^Nothing is/);
        expect(await storedIn(store)).toEqual(expected);
        if (kind === "sqlite") await expectForgotten(store);
      }
    }
    // All of them, if these are all.
    expect(deaths[0]).toBe(true);
    if (STEPS.length > 10) expect(deaths.at(-1)).toBe(false);
  });
});

it(
  "killed before or after any commit of the process, is done by the next run",
  { tags: "all", timeout: 600_000 },
  async () => {
    await using filled = await openTempDir();
    await fill(filled.file("state.sqlite"));
    const program = { file: "src/app/dump/main.ts", args: ["forget", ANA], readyMessage: "" };
    /** Resolves to false if the process came to its end before that commit. */
    const dieAndRunAgain = async (phase: string, commit: number) => {
      await using dir = await openTempDir();
      cpSync(filled.path, dir.path, { recursive: true });
      const store = dir.file("state.sqlite");
      const env = { STORE_URL: `sqlite://${store}` };
      await using first = new AppProcess({ env, program, killAtCommit: `${phase}:${commit}` });
      const hasDied = (await first.exit()) === "SIGKILL";
      const again = run(store, "forget", ANA);
      // Only the look for more is missing after the last write.
      if (hasDied) await again.catch((thrown: Error) => expect(thrown.message).toMatch(/^Nothing is/));
      else await expect(again).rejects.toThrow(/^Nothing is/);
      await expectForgotten(store);
      return hasDied;
    };
    let commit = 1;
    for (let hasDied = true; hasDied && commit < 60; commit += 1) {
      if (!isSampled(commit)) continue;
      const died = await Promise.all(["before", "after"].map((phase) => dieAndRunAgain(phase, commit)));
      hasDied = died.includes(true);
    }
    expect(commit).toBeGreaterThan(10);
  },
);

it("keeps what a replica changes meanwhile, and forgets what comes up while it runs", async () => {
  await using dir = await openTempDir();
  const store = storeOf("redis", dir);
  await fill(store);
  await using replica = await openStored(store);
  await using backend = await openStored(store);
  await using source = await openRedisSide({ url: store, clock, logger: new RecordingLogger() }, false);
  const [, followUp = makeTurn(), , naming = makeTurn()] = turnsOfAll();
  const late = endedTurn("command:late", {
    job: "job-9",
    thread: "1700000009.000000",
    userId: ANA,
    instructions: "the late aardvark",
  });
  let commits = 0;
  await forgetInStore(
    {
      ...backend,
      source,
      clock,
      queue: {
        async commit(decide) {
          commits += 1;
          // Between what was found and what is decided.
          if (commits === 1) {
            await replica.queue.commit((read) => ({
              writes: [followUp, naming].flatMap(({ id }) => {
                const turn = read("turn", id);
                const followers = [...(turn?.followers ?? []), "U0DORA"];
                return turn === undefined
                  ? []
                  : [{ kind: "turn" as const, id, record: { ...turn, followers } }];
              }),
              value: undefined,
            }));
            await replica.queue.commit((read) => ({
              writes: [
                { kind: "turn", id: late.id, record: late },
                { kind: "draft", id: "theirs", record: read("draft", "others") ?? null },
              ],
              value: undefined,
            }));
          }
          return backend.queue.commit(decide);
        },
      },
    },
    ANA,
    async () => {},
  );
  await expectForgotten(store);
  const { records } = replica.store;
  expect(await records.get("turn", late.id)).toBeUndefined();
  expect((await records.get("turn", followUp.id))?.followers).toEqual(["U0CLEO", "U0DORA"]);
  expect((await records.get("turn", naming.id))?.followers).toEqual(["U0DORA"]);
  expect(await records.get("draft", "theirs")).toBeDefined();
  // They are kept as long as the replica said since: for good.
  const ids = [followUp, naming].map(({ id }) => `turn:${id}`);
  const ends = [];
  for await (const entry of source.entries())
    if (entry.kind === "record" && ids.includes(entry.id)) ends.push(entry.expiresAt);
  expect(ends).toEqual([null, null]);
});

it("finds a person's words in what others tried again and again, once their own request has expired", async () => {
  await using world = await World.start();
  const root = await ask(world, "fix the aardvark page");
  for (const n of [0, 1, 2]) {
    world.service.finish(jobOf(world, n), { status: "failed" });
    const { ts } = await world.until(() => world.replies(DOCS, root.ts)[n]);
    if (n < 2) await world.slack.person(BEN).click({ channel: DOCS, messageTs: ts, actionId: "try_again" });
    await world.until(() => world.service.creates.length === Math.min(n + 2, 3));
  }
  await world.stopApp();
  await expireTurns(world.storePath, ({ request }) => request.retries === undefined);
  expect((await world.stored()).match(/aardvark/g)?.length).toBeGreaterThan(1);
  await runAt(world.clock, world.storePath, "forget", ANA);
  expect(await world.stored()).not.toContain("aardvark");
});

/** Removes turns as if they had expired. */
async function expireTurns(store: string, isOver: (turn: Turn) => boolean): Promise<void> {
  await using side = readSqliteSide(store);
  await using backend = await openStored(store);
  for await (const entry of side.entries()) {
    const turn = entryRecord("turn", entry);
    if (turn === undefined || !isOver(turn)) continue;
    await backend.queue.commit(() => ({
      writes: [{ kind: "turn", id: turn.id, record: null }],
      value: undefined,
    }));
  }
}

it("is refused while the app runs on the file; what Slack sends again afterwards is asked once", async () => {
  await using world = await World.start({ jobService: { level: 1 } });
  const { slack, service } = world;
  const { delivery } = await slack.person(ANA).mention({ channel: DOCS, text: "fix the aardvark page" });
  await world.until(() => service.creates.length === 1);
  service.finish(service.creates[0]?.jobId ?? "", { status: "completed", prLink: PR });
  await world.until(() => world.read(DOCS).some((text) => text.includes("Your pull request is ready")));
  await expect(runAt(world.clock, world.storePath, "forget", ANA)).rejects.toThrow(
    /in use.*Stop the app, and run this again/,
  );
  await world.stopApp();
  expect(await runAt(world.clock, world.storePath, "forget", ANA)).toContain("\nForgot U0ANA.\n");
  await world.startApp();
  expect(delivery && (await slack.redeliver(delivery, { retryNum: 1 })).status).toBe(200);
  await world.pass(60_000);
  expect(service.creates).toHaveLength(1);
});
