import { expect, it } from "vitest";
import { DEFAULT_API_KEY } from "../../world/job-service/side.ts";
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

it("is left alone where the app's settings have no Home tab", { tags: "all" }, async () => {
  await using world = await start();
  world.slack.faults.add({ method: "views.publish", fault: { kind: "error", error: "not_enabled" } });
  await world.slack.person(ANA).openApp("home");
  await world.pass(60 * MINUTE_MS);
  expect(world.slack.calls.filter(({ method }) => method === "views.publish")).toHaveLength(1);
});
