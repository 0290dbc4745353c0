import { describe, expect, it } from "vitest";
import { readiness } from "../support/app-process.ts";
import { ANA, DOCS, World } from "../support/world.ts";

const PR = "https://github.com/acme/docs/pull/7";
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Somebody sets this machine's clock. Slack's goes on as it did. */
function setClock(world: World, byMs: number): void {
  world.clock.setTo(world.clock.now() + byMs);
  world.slack.limits.set({ clockAheadMs: (world.slack.limits.settings.clockAheadMs ?? 0) - byMs });
}

/** A world over sockets: what comes over HTTP carries a time, and Slack's and the machine's would be compared. */
function startWorld(): Promise<World> {
  return World.start({ socketMode: true });
}

describe.each([
  ["one hour back", -HOUR_MS],
  ["one hour forward", HOUR_MS],
])("when the machine's clock is set %s", (_, byMs) => {
  it("while jobs are watched, watching goes on and a new request is seen at once", async () => {
    await using world = await startWorld();
    const { slack, service, clock } = world;
    await slack.person(ANA).command({ channel: DOCS, text: "fix page one" });
    await world.until(() => service.gets.length === 3);
    const [first] = service.creates;
    expect((await readiness(world.appUrl)).tasks.waiting).toBe(1);

    setClock(world, byMs);
    const setAt = clock.monotonicMs();
    const polls = service.gets.length;
    await world.until(() => service.gets.length > polls, MINUTE_MS);
    expect(clock.monotonicMs() - setAt).toBeLessThan(MINUTE_MS);

    const askedAt = clock.monotonicMs();
    await slack.person(ANA).command({ channel: DOCS, text: "fix page two" });
    await world.until(() => world.read(DOCS).some((text) => text.includes("fix page two")), MINUTE_MS);
    expect(clock.monotonicMs() - askedAt).toBeLessThan(5_000);

    service.finish(first?.jobId ?? "", { status: "completed", prLink: PR });
    service.finish(service.creates[1]?.jobId ?? "", { status: "completed", prLink: PR });
    const endedAt = clock.monotonicMs();
    await world.until(
      () => world.read(DOCS).filter((text) => text.includes("[View pull request]")).length === 2,
    );
    expect(clock.monotonicMs() - endedAt).toBeLessThan(2 * MINUTE_MS);

    await world.pass(MINUTE_MS);
    // Not the answer from before, which is good for two seconds.
    expect(await readiness(world.appUrl)).toMatchObject({
      status: "ok",
      tasks: { waiting: 0, running: 0, dead: 0 },
    });
  });

  it("while the app is stopped, it goes on after the start as if nothing had happened", async () => {
    await using world = await startWorld();
    const { slack, service, clock } = world;
    await slack.person(ANA).command({ channel: DOCS, text: "fix page one" });
    await world.until(() => service.gets.length === 5);
    await world.stopApp();
    setClock(world, byMs);
    await world.startApp();

    const startedAt = clock.monotonicMs();
    const polls = service.gets.length;
    await world.until(() => service.gets.length > polls, 2 * HOUR_MS);
    expect(clock.monotonicMs() - startedAt).toBeLessThan(MINUTE_MS);

    const askedAt = clock.monotonicMs();
    await slack.person(ANA).command({ channel: DOCS, text: "fix page two" });
    await world.until(() => world.read(DOCS).some((text) => text.includes("fix page two")), 2 * HOUR_MS);
    expect(clock.monotonicMs() - askedAt).toBeLessThan(5_000);

    for (const { jobId } of service.creates) service.finish(jobId, { status: "completed", prLink: PR });
    await world.until(
      () => world.read(DOCS).filter((text) => text.includes("[View pull request]")).length === 2,
      2 * HOUR_MS,
    );
    expect(clock.monotonicMs() - askedAt).toBeLessThan(2 * MINUTE_MS);
    expect((await readiness(world.appUrl)).status).toBe("ok");
  });
});

it("a watched job outlives a clock that is set two days forward for a moment", async () => {
  await using world = await startWorld();
  const { slack, service } = world;
  await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
  await world.until(() => service.gets.length === 3);
  setClock(world, 48 * HOUR_MS);
  await world.until(() => service.gets.length === 4);
  await world.pass(1_000);
  setClock(world, -48 * HOUR_MS);
  const setAt = world.clock.monotonicMs();
  await world.until(() => service.gets.length === 6);
  expect(world.clock.monotonicMs() - setAt).toBeLessThan(5 * MINUTE_MS);
  service.finish(service.creates[0]?.jobId ?? "", { status: "completed", prLink: PR });
  await world.until(() => slack.messages(DOCS).length === 2);
  expect(world.read(DOCS)[1]).toContain("Your pull request is ready");
});

it("a clock that was set back is noticed although nobody asks anything of the app", async () => {
  await using world = await startWorld();
  const { slack, service, clock } = world;
  await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
  await world.until(() => service.gets.length === 2);
  service.finish(service.creates[0]?.jobId ?? "", { status: "completed", prLink: PR });
  setClock(world, -HOUR_MS);
  // Only time passes: no request, no look at the queue.
  for (let second = 0; second < 60 && slack.messages(DOCS).length < 2; second += 1) {
    clock.advance(1000);
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
  expect(await slack.until(() => world.read(DOCS)[1])).toContain("Your pull request is ready");
});

it("a limit refuses nothing because the clock was set back", async () => {
  await using world = await World.start({ socketMode: true, env: { REQUESTS_PER_PERSON: "2" } });
  const { slack } = world;
  const ask = (text: string) => slack.person(ANA).command({ channel: DOCS, text });
  await ask("fix page one");
  setClock(world, -HOUR_MS);
  await ask("fix page two");
  await ask("fix page three");
  await world.until(() => world.read(DOCS).some((message) => message.includes("fix page two")), MINUTE_MS);
  expect(slack.ephemerals(ANA).map((message) => slack.visibleText(message))).toEqual([
    expect.stringContaining("limit of 2 requests an hour"),
  ]);
});

it(
  "a limit that was reached before the clock was set back ends when it would have ended",
  { tags: "nightly" },
  async () => {
    await using world = await World.start({ socketMode: true, env: { REQUESTS_PER_PERSON: "1" } });
    const { slack, clock } = world;
    const ask = async (text: string) => {
      await slack.person(ANA).command({ channel: DOCS, text });
      await world.pass(5_000);
      return world.read(DOCS).some((message) => message.includes(text));
    };
    expect(await ask("fix page one")).toBe(true);
    expect(await ask("fix page two")).toBe(false);
    setClock(world, -HOUR_MS);
    await world.pass(30 * MINUTE_MS);
    clock.advance(30 * MINUTE_MS);
    expect(await ask("fix page three")).toBe(true);
  },
);
