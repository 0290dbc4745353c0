import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { entryRecord } from "../../src/app/dump/entry-record.ts";
import { readSqliteSide } from "../../src/app/dump/sqlite-side.ts";
import { linkedAppends } from "../../src/app/rules/thread/request-list.ts";
import type { Turn } from "../../src/app/rules/turn/turn.ts";
import { DEFAULT_API_KEY } from "../../world/job-service/side.ts";
import { openStored } from "../support/stored-person.ts";
import { MINUTE_MS, PR, askedFor } from "../support/threads.ts";
import { ANA, BEN, DOCS, SECRET_CHANNEL, World, type WorldOptions } from "../support/world.ts";

const DAY_MS = 86_400_000;
const MONDAY = Date.UTC(2026, 10, 23, 9);
const HEADS = {
  own: "*Your requests*",
  team: "*Requests of others in your channels*",
  open: "*Open pull requests, oldest first*",
};

async function start(options: WorldOptions = {}): Promise<World> {
  const world = await World.start({ startMs: MONDAY, jobService: { level: 1 }, ...options });
  world.slack.workspace.invite(SECRET_CHANNEL);
  return world;
}

/** The lines of a person's Home tab, without addresses and without when it was made. */
function lines(world: World, userId: string): string[] {
  const blocks = world.slack.home(userId) ?? [];
  const text = world.slack.visibleText({ text: "", blocks });
  return text
    .split("\n")
    .filter((line) => !line.startsWith("As of "))
    .map((line) => line.replaceAll(/ \(https:[^)]*\)/g, "").replace(/ · (?:just now|[^·]+ ago)$/, ""));
}

/** Opens a person's Home tab, and reads it. */
async function open(world: World, userId: string): Promise<string[]> {
  await world.slack.person(userId).openApp("home");
  await world.until(() => world.slack.home(userId) !== undefined);
  await world.pass(1000);
  return lines(world, userId);
}

async function ask(world: World, who: string, text: string, channel = DOCS): Promise<string> {
  const before = world.service.creates.length;
  await world.slack.person(who).command({ channel, text });
  await world.until(() => world.service.creates.length > before);
  return world.service.creates.at(-1)?.jobId ?? "";
}

it("shows a person's requests, others' in their channels and open pull requests, and nothing private", async () => {
  await using world = await start();
  const { service } = world;
  const finished = await ask(world, ANA, "fix page 1");
  service.finish(finished, { status: "completed", prLink: PR });
  service.follow(finished, { title: "Page 1", openedAt: new Date(MONDAY - 3 * DAY_MS).toISOString() });
  await world.pass(15 * MINUTE_MS);
  const secret = await ask(world, ANA, "fix the zebra page", SECRET_CHANNEL);
  service.finish(secret, { status: "completed", prLink: "https://github.com/acme/docs/pull/9" });
  service.follow(secret, { title: "Zebras" });
  await world.pass(15 * MINUTE_MS);
  await ask(world, BEN, "fix page 2");
  const ofBen = await open(world, BEN);
  expect(ofBen).toEqual([
    "[Refresh]",
    HEADS.own,
    "fix page 2 · ⏳ Starting… · #docs",
    HEADS.team,
    "fix page 1 · 👀 Waiting for review · acme/docs#7 · @Ana",
    HEADS.open,
    "acme/docs#7 Page 1, open for 3 days, waiting for maria",
  ]);
  const ofAna = await open(world, ANA);
  expect(ofAna.filter((line) => /zebra/i.test(line))).toHaveLength(2);
  expect(world.service.creates.map(askedFor)).toContain("fix the zebra page");
});

it("is shown anew by Refresh, and lists what isn't done first", async () => {
  await using world = await start();
  const first = await ask(world, ANA, "fix page 1");
  await world.pass(MINUTE_MS);
  const second = await ask(world, ANA, "fix page 2");
  world.service.finish(second, { status: "failed" });
  await world.pass(5 * MINUTE_MS);
  const before = await open(world, ANA);
  expect(before.slice(2, 4)).toEqual([
    expect.stringMatching(/^fix page 1 · ⏳/),
    expect.stringMatching(/^fix page 2 · ❌/),
  ]);
  world.service.finish(first, { status: "completed", prLink: PR });
  await world.pass(5 * MINUTE_MS);
  expect(lines(world, ANA)).toEqual(before);
  await world.slack.person(ANA).clickInHome({ actionId: "refresh_home" });
  await world.until(() => lines(world, ANA).join("\n").includes("acme/docs#7"));
});

it("sets the project of the person's requests", async () => {
  const projects = { docs: { apiKey: DEFAULT_API_KEY }, api: { apiKey: DEFAULT_API_KEY } };
  const listed = [
    { name: "docs", id: "docs" },
    { name: "api", id: "api" },
  ];
  const env = { DOCS_AGENT_PROJECT_ID: undefined, DOCS_AGENT_PROJECTS: JSON.stringify(listed) };
  await using world = await start({ env, jobService: { projects } });
  await open(world, ANA);
  const option = JSON.stringify({ project: "api" });
  await world.slack.person(ANA).clickInHome({ actionId: "home_project", option });
  await world.settle();
  await ask(world, ANA, "fix page 1");
  expect(world.service.creates.map(({ projectId }) => projectId)).toEqual(["api"]);
});

it("tells a guest that only members can use the app, and nothing else", async () => {
  await using world = await start();
  world.slack.workspace.addUser({ id: "U0GUS", name: "gus", guest: "multi-channel" });
  world.slack.workspace.invite(DOCS, "U0GUS");
  await ask(world, ANA, "fix page 1");
  expect(await open(world, "U0GUS")).toEqual([
    "Sorry, only members of this workspace can use Docs Agent. Your message stays in Slack.",
  ]);
});

it("shows what holds when it is made, also if it waited since a refusal", async () => {
  const users = [ANA];
  await using world = await start({
    env: { ALLOW_GROUPS: "S0WRITERS" },
    prepare: ({ slack }) =>
      slack.workspace.addGroup({ id: "S0WRITERS", handle: "writers", name: "Writers", users }),
  });
  world.slack.faults.add({
    method: "views.publish",
    times: 9,
    fault: { kind: "error", error: "internal_error" },
  });
  await world.slack.person(BEN).openApp("home");
  await world.pass(MINUTE_MS);
  users.push(BEN);
  await world.pass(7 * MINUTE_MS);
  expect(world.slack.home(BEN)).toBeUndefined();
  expect(await open(world, BEN)).toContain(HEADS.own);
});

it("says in the tab what became of a press that couldn't be stored", async () => {
  await using world = await start();
  await open(world, ANA);
  // Another program holds the file, as a careless backup would.
  const other = new DatabaseSync(world.storePath);
  other.exec("BEGIN IMMEDIATE");
  await world.slack.person(ANA).clickInHome({ actionId: "refresh_home" });
  await world.slack.until(() => lines(world, ANA).length === 2);
  expect(lines(world, ANA)).toEqual([expect.stringMatching(/^I can't tell whether that was/), "[Refresh]"]);
  other.exec("ROLLBACK");
  other.close();
  await world.slack.person(ANA).clickInHome({ actionId: "refresh_home" });
  await world.until(() => lines(world, ANA).includes(HEADS.own));
});

it("has the oldest open pull requests of a busy channel, and asks Slack no more for many channels", async () => {
  await using world = await start();
  const { workspace } = world.slack;
  const oldest = await openedBy(world, BEN, 70);
  expect((await open(world, BEN)).slice(-21)).toEqual([
    ...oldest.slice(0, 20).map((title) => expect.stringContaining(title)),
    "And 50 newer ones.",
  ]);
  for (let n = 0; n < 60; n += 1) {
    workspace.addChannel({ name: `team-${n}`, members: [ANA], withBot: true });
  }
  const before = world.slack.calls.length;
  expect((await open(world, ANA)).at(-1)).toBe(
    "I looked through 50 channels of yours and the newest 49 pull requests of each, so some may be missing.",
  );
  const methods = world.slack.calls.slice(before).map(({ method }) => method);
  expect(methods.toSorted()).toEqual([
    "users.conversations",
    "users.conversations",
    "users.conversations",
    "users.info",
    "views.publish",
  ]);
});

/** Stores open pull requests of a person, one each hour. Returns their titles, oldest first. */
async function openedBy(world: World, userId: string, count: number): Promise<string[]> {
  const jobId = await ask(world, userId, "fix page 0");
  world.service.finish(jobId, { status: "completed", prLink: PR });
  world.service.follow(jobId, { title: "Page 0", openedAt: new Date(MONDAY).toISOString() });
  await world.pass(15 * MINUTE_MS);
  await world.stopApp();
  await using side = readSqliteSide(world.storePath);
  const turns: Turn[] = [];
  for await (const entry of side.entries()) turns.push(...[entryRecord("turn", entry) ?? []].flat());
  const [turn] = turns;
  const pullRequest = turn?.pullRequest;
  if (turn === undefined || pullRequest === undefined) throw new Error("no pull request is followed");
  await using backend = await openStored(world.storePath);
  const titles = ["Page 0"];
  for (let n = 1; n < count; n += 1) {
    const url = `${PR}${n}`;
    const openedAt = MONDAY + n * 60 * MINUTE_MS;
    const latest = { ...pullRequest.latest, url, title: `Page ${n},`, openedAt };
    const id = `command:${n}`;
    const made = {
      ...turn,
      id,
      request: { ...turn.request, id },
      pullRequest: { ...pullRequest, url, latest },
    };
    await backend.queue.commit(() => ({
      writes: [{ kind: "turn", id, record: made }],
      appends: linkedAppends(made.request),
      value: undefined,
    }));
    titles.push(`Page ${n},`);
  }
  await backend[Symbol.asyncDispose]();
  await world.startApp();
  return titles;
}

it("is left alone where the app's settings have no Home tab", { tags: "all" }, async () => {
  await using world = await start();
  world.slack.faults.add({ method: "views.publish", fault: { kind: "error", error: "not_enabled" } });
  await world.slack.person(ANA).openApp("home");
  await world.pass(60 * MINUTE_MS);
  expect(world.slack.calls.filter(({ method }) => method === "views.publish")).toHaveLength(1);
});
