import { expect, it } from "vitest";
import type { FollowedPullRequest } from "../../src/shared/contract/pull-request.ts";
import type { Sent } from "../../src/shared/contract/reading.ts";
import { ANA, BEN, DOCS, RANDOM, SECRET_CHANNEL, World, type WorldOptions } from "../support/world.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;
const MONDAY = Date.UTC(2026, 10, 23, 9);

type Followed = Partial<Sent<typeof FollowedPullRequest>>;

function start(options: WorldOptions = {}): Promise<World> {
  return World.start({ startMs: MONDAY, jobService: { level: 1 }, ...options });
}

/** Somebody asks, and gets a pull request that stands like this. */
async function linked(world: World, n: number, pullRequest: Followed, who = ANA, channel = DOCS) {
  const { service, slack } = world;
  const before = service.creates.length;
  await slack.person(who).command({ channel, text: `fix page ${n}` });
  await world.until(() => service.creates.length > before);
  const jobId = service.creates.at(-1)?.jobId ?? "";
  service.finish(jobId, { status: "completed", prLink: `https://github.com/acme/docs/pull/${n}` });
  service.follow(jobId, {
    title: `Page ${n}`,
    openedAt: new Date(MONDAY - n * DAY).toISOString(),
    ...pullRequest,
  });
  await world.pass(15 * MINUTE);
  return jobId;
}

/** What a person alone reads, without the lines of where and when. */
async function listed(world: World, userId: string, channel = DOCS, text = "list open"): Promise<string[]> {
  const before = world.slack.ephemerals(userId).length;
  await world.slack.person(userId).command({ channel, text });
  await world.until(() => world.slack.ephemerals(userId).length > before);
  return shown(world, userId);
}

function shown(world: World, userId: string): string[] {
  const last = world.slack.ephemerals(userId).at(-1);
  const lines = last === undefined ? [] : world.slack.visibleText(last).split("\n");
  return lines.map((line) => line.replaceAll(/ \(https:[^)]*\)/g, ""));
}

it("lists open pull requests, the oldest first, with whose turn it is", async () => {
  await using world = await start();
  await linked(world, 1, {});
  await linked(world, 2, { waitingFor: [] });
  const reviewed = await linked(world, 3, { review: "changes-requested", waitingFor: [] }, BEN);
  await linked(world, 4, { checks: { state: "failed", failed: ["links"] } });
  await linked(world, 5, { isDraft: true });
  await linked(world, 6, { review: "approved", blockedBy: "conflicts", baseRef: "main" });
  await linked(world, 7, { state: "merged" });
  await linked(world, 8, { state: "closed" });
  await linked(world, 9, { isVisible: false });
  await linked(world, 10, { review: "approved" });
  expect(await listed(world, ANA)).toEqual([
    "*Open pull requests*",
    "acme/docs#10 Page 10, open for 10 days, approved, not merged yet",
    "acme/docs#6 Page 6, open for 6 days, conflicts with main, waiting for @Ana",
    "acme/docs#5 Page 5, open for 5 days, draft, waiting for @Ana",
    "acme/docs#4 Page 4, open for 4 days, checks failed, waiting for @Ana",
    "acme/docs#3 Page 3, open for 3 days, changes requested, waiting for @Ben",
    "acme/docs#2 Page 2, open for 2 days, waiting for a review",
    "acme/docs#1 Page 1, open for 1 day, waiting for maria",
  ]);
  // Each is in both lists, and here once; elsewhere only one's own are.
  expect(await listed(world, BEN, RANDOM)).toEqual([
    "*Open pull requests*",
    "acme/docs#3 Page 3, open for 3 days, changes requested, waiting for @Ben",
  ]);
  expect(await listed(world, ANA, DOCS, "list")).toContainEqual(
    expect.stringMatching(/^fix page 7 · 🎉 Merged · acme\/docs#7 · #docs · .+ ago$/),
  );
  // A follow-up has changed it: now it is the reviewer's turn.
  world.service.follow(reviewed, { review: "changes-requested", waitingFor: [], headSha: "b".repeat(40) });
  await world.pass(15 * MINUTE);
  expect(await listed(world, BEN, DOCS, "list")).toContainEqual(
    expect.stringContaining("👀 Waiting for review · acme/docs#3"),
  );
  expect((await listed(world, BEN, RANDOM)).at(-1)).toMatch(/^acme\/docs#3 .*, waiting for a review$/);
});

it("says of a follow-up, too, how its pull request stands", async () => {
  await using world = await start();
  const jobId = await linked(world, 7, { checks: { state: "failed", failed: ["links"] } });
  const { service, slack } = world;
  const [root] = slack.messages(DOCS);
  await slack.person(ANA).mention({ channel: DOCS, threadTs: root?.ts ?? "", text: "fix the link, too" });
  await world.until(() => service.messages.length > 0);
  service.finish(jobId, { status: "completed", prLink: "https://github.com/acme/docs/pull/7" });
  await world.pass(15 * MINUTE);
  expect(await listed(world, ANA, DOCS, "list")).toEqual([
    "*Your requests*",
    "fix page 7 · 1 follow-up · ❌ Checks failed · acme/docs#7 · #docs · 15 minutes ago",
  ]);
  service.follow(jobId, { state: "merged" });
  await world.pass(15 * MINUTE);
  expect((await listed(world, ANA, DOCS, "list")).slice(1)).toEqual([
    "fix page 7 · 1 follow-up · 🎉 Merged · acme/docs#7 · #docs · 30 minutes ago",
  ]);
});

it("shows nobody what reports where they are not, and hostile titles as text", async () => {
  await using world = await start();
  world.slack.workspace.invite(SECRET_CHANNEL);
  await linked(world, 1, { title: "<!channel> *a* \u202e", waitingFor: ["<@U0BEN>", "x".repeat(60_000)] });
  await linked(world, 2, {}, ANA, SECRET_CHANNEL);
  expect((await listed(world, BEN)).slice(1)).toEqual([
    expect.stringMatching(
      /^acme\/docs#1 <!channel> \*a\*, open for 1 day, waiting for <@U0BEN> and x{50,100}…$/,
    ),
  ]);
  expect((await listed(world, ANA)).map((line) => line.slice(0, 11))).toEqual([
    "*Open pull ",
    "acme/docs#2",
    "acme/docs#1",
  ]);
  world.slack.workspace.kick(SECRET_CHANNEL, ANA);
  // Who is where is asked once in a while.
  await world.pass(15 * MINUTE);
  expect(await listed(world, ANA)).not.toContainEqual(expect.stringContaining("acme/docs#2"));
  expect(world.slack.ephemerals().flatMap(({ mentions }) => mentions)).not.toContain("!channel");
});

it("has pages", async () => {
  await using world = await start({ env: { REQUESTS_PER_PERSON: "200" } });
  for (let n = 1; n <= 12; n += 1) await linked(world, n, {});
  const numbers = (lines: string[]) => lines.flatMap((line) => /#(\d+) /.exec(line)?.[1] ?? []).map(Number);
  expect(numbers(await listed(world, ANA))).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3]);
  const messageTs = world.slack.ephemerals(ANA).at(-1)?.ts ?? "";
  await world.slack.person(ANA).click({ channel: DOCS, messageTs, ephemeral: true, actionId: "list_older" });
  await world.settle();
  expect(numbers(shown(world, ANA))).toEqual([2, 1]);
});

it("says so where none is known, as with a service that speaks only the contract", async () => {
  await using world = await start({ jobService: {} });
  expect(await listed(world, ANA)).toEqual([
    "I don't know of any open pull requests of yours or in this channel.",
  ]);
});

it(
  "lists what is old, whatever was asked since, and however short requests are kept",
  { tags: "nightly" },
  async () => {
    const env = { RETENTION_DAYS: "1", REQUESTS_PER_PERSON: "200" };
    await using world = await start({ env });
    const { service, slack } = world;
    await linked(world, 1, {});
    for (let n = 0; n < 101; n += 1) {
      await slack.person(ANA).command({ channel: DOCS, text: `look at page ${n}` });
      await world.until(() => service.creates.length > n + 1);
      service.finish(service.creates.at(-1)?.jobId ?? "", { status: "completed" });
      await world.settle();
    }
    await world.pass(5 * DAY);
    expect((await listed(world, BEN)).slice(1)).toEqual([
      "acme/docs#1 Page 1, open for 6 days, waiting for maria",
    ]);
  },
);
