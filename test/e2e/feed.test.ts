import type { JobChanges } from "../../src/shared/contract/feed.ts";
import type { Sent } from "../../src/shared/contract/reading.ts";
import { describe, expect, it } from "vitest";
import type { FeedLie } from "../../world/job-service/side-feed.ts";
import { OFFERS_EVERYTHING } from "../support/service-kinds.ts";
import { ANA, DOCS, World } from "../support/world.ts";

const PR = "https://github.com/acme/docs/pull/7";
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

function start(env: Record<string, string> = {}, changes: "held" | "at-once" = "held"): Promise<World> {
  const jobService = { ...OFFERS_EVERYTHING, changes };
  return World.start({ jobService, env });
}

function countOf(world: World, op: string): number {
  return world.service.calls.filter((call) => call.op === op).length;
}

async function ask(world: World, text = "fix the install page"): Promise<string> {
  const before = world.service.creates.length;
  await world.slack.person(ANA).command({ channel: DOCS, text });
  await world.until(() => world.service.creates.length > before);
  return world.service.creates.at(-1)?.jobId ?? "";
}

function outcomes({ slack }: World): string[] {
  const isOutcome = (post: unknown) => String(post).startsWith("outcome");
  return slack
    .messages(DOCS)
    .filter(({ metadata }) => isOutcome(metadata?.event_payload["post"]))
    .map((message) => slack.visibleText(message));
}

/** How long after its end a job's outcome is there, milliseconds. */
async function toldAfter(world: World, jobId: string): Promise<number> {
  const before = outcomes(world).length;
  const endedAt = world.clock.now();
  world.service.finish(jobId, { status: "completed", prLink: PR });
  await world.until(() => outcomes(world).length > before, 30 * MINUTE_MS);
  return world.clock.now() - endedAt;
}

describe("a job service that tells what changes", () => {
  it("is polled once at the start and every ten minutes, while steps and the end are told", async () => {
    await using world = await start();
    const jobId = await ask(world);
    await world.pass(10 * SECOND_MS);
    const before = countOf(world, "get");
    expect(before).toBeLessThanOrEqual(2);
    world.service.tell(jobId, { step: "Reading the install page" });
    await world.until(() => world.read(DOCS).some((text) => text.includes("Reading the install page")));
    await world.pass(25 * MINUTE_MS);
    expect(countOf(world, "get") - before).toBe(2);
    expect(await toldAfter(world, jobId)).toBeLessThanOrEqual(31 * SECOND_MS);
    await world.pass(30 * MINUTE_MS);
    expect(outcomes(world)).toHaveLength(1);
    expect(countOf(world, "get") - before).toBeLessThanOrEqual(4);
  });

  it("ends a watch at its deadline, and says that a request takes long", { tags: "all" }, async () => {
    await using world = await start({ JOB_DEADLINE_MS: String(45 * MINUTE_MS) });
    for (let n = 0; n < 5; n += 1) {
      const jobId = await ask(world, `fix page ${n}`);
      world.service.tell(jobId, { step: "Reading" });
      await world.pass(MINUTE_MS);
      await toldAfter(world, jobId);
    }
    world.service.tell(await ask(world, "fix the rest"), { step: "Reading" });
    const since = world.clock.now();
    await world.until(
      () => world.read(DOCS).some((text) => text.includes("longer than usual")),
      9 * MINUTE_MS,
    );
    expect(world.clock.now() - since).toBeLessThan(6 * MINUTE_MS);
    await world.pass(47 * MINUTE_MS - (world.clock.now() - since));
    expect(world.read(DOCS).filter((text) => text.includes("stopped watching"))).toHaveLength(1);
  });

  it(
    "is polled as others are while its feed is broken, at once, and less once it is back",
    { tags: "all" },
    async () => {
      await using world = await start();
      const jobId = await ask(world);
      await world.pass(5 * MINUTE_MS);
      const other = await ask(world, "fix the FAQ");
      await world.pass(20 * SECOND_MS);
      world.service.faults.add({ op: "changes", fault: { kind: "status", status: 500 } });
      const before = countOf(world, "get");
      await world.pass(2 * MINUTE_MS);
      expect(countOf(world, "get") - before).toBeGreaterThan(8);
      expect(await toldAfter(world, jobId)).toBeLessThanOrEqual(40 * SECOND_MS);
      world.service.faults.clear();
      await world.pass(10 * MINUTE_MS);
      const back = countOf(world, "get");
      await world.pass(30 * MINUTE_MS);
      expect(countOf(world, "get") - back).toBeLessThanOrEqual(4);
      expect(await toldAfter(world, other)).toBeLessThanOrEqual(31 * SECOND_MS);
    },
  );

  it.each([403, 404])(
    "is polled as others are where something in front of it blocks its feed with %i",
    { tags: "all" },
    async (status) => {
      await using world = await start();
      world.service.faults.add({ op: "changes", fault: { kind: "gateway", status } });
      const jobId = await ask(world);
      await world.pass(10 * MINUTE_MS);
      expect(countOf(world, "get")).toBeGreaterThan(20);
      const before = countOf(world, "changes");
      await world.pass(60 * MINUTE_MS);
      expect(countOf(world, "changes") - before).toBeLessThanOrEqual(14);
      expect(await toldAfter(world, jobId)).toBeLessThanOrEqual(80 * SECOND_MS);
    },
  );

  it(
    "is polled as others are while its feed answers at once that nothing has changed",
    { tags: "all" },
    async () => {
      await using world = await start({}, "at-once");
      const jobId = await ask(world);
      // In a minute, it has answered five times.
      await world.pass(5 * MINUTE_MS);
      const before = countOf(world, "get");
      await world.pass(5 * MINUTE_MS);
      expect(countOf(world, "get") - before).toBeGreaterThan(8);
      // It does tell what changes, and counts again.
      world.service.tell(jobId, { step: "Reading the install page" });
      await world.until(() => world.read(DOCS).some((text) => text.includes("Reading the install page")));
      expect(await toldAfter(world, jobId)).toBeLessThanOrEqual(31 * SECOND_MS);
      expect(outcomes(world)).toHaveLength(1);
    },
  );

  it(
    "begins anew if it has forgotten where it was, and reads its open jobs once",
    { tags: "all" },
    async () => {
      await using world = await start();
      const jobId = await ask(world);
      await world.pass(MINUTE_MS);
      const before = countOf(world, "get");
      // What changes now is never told.
      world.service.finish(jobId, { status: "completed", prLink: PR });
      world.service.feed?.forget();
      await world.until(() => outcomes(world).length === 1, MINUTE_MS);
      expect(countOf(world, "get") - before).toBeLessThanOrEqual(2);
      await world.pass(20 * MINUTE_MS);
      expect(outcomes(world)).toHaveLength(1);
    },
  );

  it(
    "reads also the jobs whose pull request it hasn't heard of yet, if it begins anew",
    { tags: "all" },
    async () => {
      // Longer ago than a turn may last.
      await using world = await start({ JOB_DEADLINE_MS: String(10 * MINUTE_MS) });
      const jobId = await ask(world);
      await toldAfter(world, jobId);
      await world.pass(15 * MINUTE_MS);
      world.service.follow(jobId, { state: "merged" });
      world.service.feed?.forget();
      const ends = () => world.read(DOCS).filter((text) => text.includes("is merged"));
      await world.until(() => ends().length > 0, 2 * MINUTE_MS);
      await world.pass(20 * MINUTE_MS);
      expect(ends()).toHaveLength(1);
    },
  );

  it.each([
    ["asks one of those who look to wait", 1, { status: 429, headers: { "retry-after": "3" } }],
    ["fails five looks", 5, { status: 500 }],
  ] as const)(
    "is asked soon about pull requests again, if it has forgotten where it was and %s",
    { tags: "all" },
    async (_, times, fault) => {
      await using world = await start();
      const jobIds: string[] = [];
      for (let n = 1; n <= 5; n += 1) {
        const jobId = await ask(world, `fix page ${n}`);
        world.service.finish(jobId, {
          status: "completed",
          prLink: `https://github.com/acme/docs/pull/${n}`,
        });
        world.service.follow(jobId);
        jobIds.push(jobId);
      }
      await world.until(() => outcomes(world).length === 5, 2 * MINUTE_MS);
      await world.pass(5 * MINUTE_MS);
      for (const jobId of jobIds) world.service.follow(jobId, { state: "merged" });
      world.service.feed?.forget();
      world.service.faults.add({ op: "get", times, fault: { kind: "status", ...fault } });
      // It takes POLL_MAX_MS, a minute, until all have been looked at once.
      const merged = () => world.read(DOCS).filter((text) => text.includes("is merged"));
      await world.until(() => merged().length === 5, 2 * MINUTE_MS);
      await world.pass(20 * MINUTE_MS);
      expect(merged()).toHaveLength(5);
    },
  );

  it("is told the same after a restart, and nobody hears it twice", async () => {
    await using world = await start();
    const jobId = await ask(world);
    await world.pass(MINUTE_MS);
    await world.stopApp();
    world.service.finish(jobId, { status: "completed", prLink: PR });
    await world.startApp();
    await world.until(() => outcomes(world).length === 1, 2 * MINUTE_MS);
    await world.pass(20 * MINUTE_MS);
    expect(outcomes(world)).toHaveLength(1);
  });
});

function changed(json: unknown): Sent<typeof JobChanges> {
  return json as Sent<typeof JobChanges>;
}

/** `withinMs`: by when an outcome is there all the same. */
const LIES: [name: string, withinMs: number, lie: () => FeedLie][] = [
  [
    "goes back again and again",
    MINUTE_MS,
    () => (_, honest) => void Object.assign(honest.json as object, { next: "c0" }),
  ],
  [
    "tells the same again and again",
    MINUTE_MS,
    () => {
      let first: Sent<typeof JobChanges>["jobs"] = [];
      return (_, { json }) => {
        if (first.length === 0) first = structuredClone(changed(json).jobs);
        Object.assign(json as object, { jobs: [...first, ...changed(json).jobs] });
      };
    },
  ],
  [
    "skips everything",
    2 * MINUTE_MS,
    () => (_, honest) => void Object.assign(honest.json as object, { jobs: [] }),
  ],
  [
    "knows no cursor of its own",
    2 * MINUTE_MS,
    () =>
      ({ after }, honest) =>
        void (after !== null && Object.assign(honest, { status: 410, json: { error: "Gone" } })),
  ],
  ["never answers", 2 * MINUTE_MS, () => () => true],
  [
    "ends in the middle",
    MINUTE_MS,
    () => (_a, _h, response) => (
      response.writeHead(200, { "content-length": 500 }).write('{"jobs":['),
      response.destroy(),
      true
    ),
  ],
  ["sends garbage", MINUTE_MS, () => (_, honest) => void Object.assign(honest, { json: [null, "x"] })],
  [
    "sends 10 MB",
    MINUTE_MS,
    () => (_, honest) => void Object.assign(honest.json as object, { more: "x".repeat(10 * 1024 ** 2) }),
  ],
  [
    "sends garbage among its jobs",
    MINUTE_MS,
    () =>
      (_, { json }) =>
        void changed(json).jobs.unshift(null as never, 7 as never, { id: "job_1" } as never),
  ],
  [
    "tells only of jobs that nobody has asked for",
    2 * MINUTE_MS,
    () => {
      let told = 0;
      let job: Sent<typeof JobChanges>["jobs"][number] | undefined;
      return (_, honest) => {
        const { jobs, next } = changed(honest.json);
        job ??= jobs[0];
        told += 1;
        honest.json = { jobs: job === undefined ? [] : [{ ...job, id: `job_of_others_${told}` }], next };
      };
    },
  ],
  [
    "tells of jobs that nobody has asked for",
    MINUTE_MS,
    () => {
      let made = 0;
      return (_, { json }) => {
        const [job] = changed(json).jobs;
        if (job !== undefined)
          changed(json).jobs.unshift(
            { ...job, id: "job_of_others" },
            { ...job, id: `job_${(made += 1) + 1000}` },
          );
      };
    },
  ],
  [
    "sends a cursor of 10 KB",
    MINUTE_MS,
    () => (_, honest) => void Object.assign(honest.json as object, { next: "c".repeat(10_000) }),
  ],
];

describe("a feed that lies", { tags: "all" }, () => {
  it.each(LIES)(
    "%s: nothing is lost or said twice, and it isn't asked in haste",
    async (_, withinMs, lie) => {
      await using world = await start({ JOB_SERVICE_TIMEOUT_MS: "300" }, "at-once");
      const { feed } = world.service;
      if (feed === null) throw new Error("there is no feed");
      feed.lie = lie();
      const jobId = await ask(world);
      await world.pass(3 * MINUTE_MS);
      const asked = feed.requests.length;
      await world.pass(MINUTE_MS);
      expect(feed.requests.length - asked).toBeLessThanOrEqual(121);
      expect(await toldAfter(world, jobId)).toBeLessThanOrEqual(withinMs);
      await world.pass(5 * MINUTE_MS);
      expect(outcomes(world)).toHaveLength(1);
      expect(world.logger.lines.filter(({ level }) => level === "error")).toEqual([]);
    },
  );
});

it("is never asked for of a service that speaks only the contract", async () => {
  for (const jobService of [{}, { idempotencyKeys: true }]) {
    await using world = await World.start({ jobService });
    const jobId = await ask(world);
    await world.pass(5 * MINUTE_MS);
    await toldAfter(world, jobId);
    expect(countOf(world, "changes")).toBe(0);
  }
});
