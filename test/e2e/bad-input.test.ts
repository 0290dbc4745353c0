import { createHmac } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { PROMPT_MAX_CHARS } from "../../src/app/rules/turn/request.ts";
import { ANA, BEN, BOT_TOKEN, DOCS, RANDOM, SECRETS, SIGNING_SECRET, World } from "../support/world.ts";
import { DEFAULT_API_KEY } from "../../world/job-service/side.ts";

const PR = "https://github.com/acme/docs/pull/7";
const TWO_PROJECTS = JSON.stringify([
  { name: "docs", id: "docs" },
  { name: "api", id: "api" },
]);
const twoProjects = {
  env: { DOCS_AGENT_PROJECTS: TWO_PROJECTS, DOCS_AGENT_PROJECT_ID: undefined },
  jobService: { projects: { docs: { apiKey: DEFAULT_API_KEY }, api: { apiKey: DEFAULT_API_KEY } } },
};

/** A day without anything left to do. */
async function nothingMore(world: World): Promise<void> {
  await world.pass(36 * 3_600_000);
}

function ephemeralTexts(world: World, userId = ANA): string[] {
  return world.slack.ephemerals(userId).map((message) => world.slack.visibleText(message));
}

describe("a bad or stale signature", () => {
  const body = new URLSearchParams({
    command: "/docs-agent",
    text: "fix it",
    trigger_id: "1.2.3",
    team_id: "T1",
    channel_id: DOCS,
    user_id: ANA,
    response_url: "http://127.0.0.1:9/",
  }).toString();

  function signed(secret: string, timestampS: number): Record<string, string> {
    const signature = createHmac("sha256", secret).update(`v0:${timestampS}:${body}`).digest("hex");
    return {
      "content-type": "application/x-www-form-urlencoded",
      "x-slack-request-timestamp": String(timestampS),
      "x-slack-signature": `v0=${signature}`,
    };
  }
  const nowS = Math.floor(Date.now() / 1000);

  it.each([
    ["made with another secret", signed("another-secret", nowS)],
    ["of six minutes ago", signed(SIGNING_SECRET, nowS - 360)],
    ["that is missing", { "content-type": "application/x-www-form-urlencoded" }],
  ])("%s gets 401, and nothing is stored", async (_, headers) => {
    await using world = await World.start();
    const response = await fetch(`${world.appUrl}/slack/events`, { method: "POST", headers, body });
    expect(response.status).toBe(401);
    await nothingMore(world);
    expect(world.read(DOCS)).toEqual([]);
    expect(world.service.calls).toEqual([]);
    const db = new DatabaseSync(world.storePath, { readOnly: true });
    expect(db.prepare("SELECT count(*) AS n FROM tasks").get()).toEqual({ n: 0 });
    db.close();
  });

  it("but a good one is taken", async () => {
    await using world = await World.start();
    const headers = signed(SIGNING_SECRET, nowS);
    expect((await fetch(`${world.appUrl}/slack/events`, { method: "POST", headers, body })).status).toBe(200);
    await world.until(() => world.service.creates.length === 1);
  });
});

describe("an empty prompt", () => {
  it.each(["", "   ", "\u200b\u202e "])(
    "opens the form for %j, and what is sent from it becomes a job",
    async (text) => {
      await using world = await World.start();
      world.service.script.completeAfterPolls(1, { prLink: PR });
      await world.slack.person(ANA).command({ channel: DOCS, text });
      const form = await world.form(ANA);
      await nothingMore(world);
      expect(world.service.calls).toEqual([]);

      await world.slack.person(ANA).submit({
        viewId: form.id,
        values: { instructions: { instructions: " Fix the <quickstart> & FAQ " } },
      });
      await world.until(() => world.service.creates.length === 1);
      expect(world.service.creates[0]?.prompt).toBe("Fix the <quickstart> & FAQ");
      await world.until(() => world.slack.messages(DOCS).length === 2);
    },
  );

  it("in the form is sent back to be filled in", async () => {
    await using world = await World.start();
    await world.slack.person(ANA).command({ channel: DOCS });
    const form = await world.form(ANA);
    const sent = await world.slack
      .person(ANA)
      .submit({ viewId: form.id, values: { instructions: { instructions: " \u200b " } } });
    expect(JSON.parse(sent.body)).toEqual({
      response_action: "errors",
      errors: { instructions: "Say what should change." },
    });
    await nothingMore(world);
    expect(world.service.calls).toEqual([]);
  });

  it.each(["", "\u200b", "help"])("in a mention (%j) gets a short help, never a job", async (text) => {
    await using world = await World.start();
    const sent = await world.slack.person(ANA).mention({ channel: DOCS, text });
    expect(sent.status).toBe(200);
    await world.until(() => ephemeralTexts(world).length === 1);
    expect(ephemeralTexts(world)[0]).toContain("/docs-agent fix the install command");
    await nothingMore(world);
    expect(world.service.calls).toEqual([]);
    expect(ephemeralTexts(world)).toHaveLength(1);
  });
});

describe("a prompt over the limit", () => {
  it("gets an ephemeral message with the limit and the length", async () => {
    await using world = await World.start();
    const sent = await world.slack
      .person(ANA)
      .command({ channel: DOCS, text: "x".repeat(PROMPT_MAX_CHARS + 1) });
    expect(sent.status).toBe(200);
    expect(ephemeralTexts(world)).toEqual([
      expect.stringMatching(/That's 4,001 characters; the limit is 4,000\./),
    ]);
    await nothingMore(world);
    expect(world.service.calls).toEqual([]);
    expect(world.read(DOCS)).toEqual([]);
  });

  it("in a mention gets the same", async () => {
    await using world = await World.start();
    await world.slack.person(ANA).mention({ channel: DOCS, text: "x".repeat(PROMPT_MAX_CHARS + 1) });
    await world.until(() => ephemeralTexts(world).length === 1);
    expect(ephemeralTexts(world)[0]).toContain("That's 4,001 characters; the limit is 4,000.");
    expect(world.service.calls).toEqual([]);
  });

  it("is none at exactly the limit", async () => {
    await using world = await World.start();
    const text = "y".repeat(PROMPT_MAX_CHARS);
    await world.slack.person(ANA).command({ channel: DOCS, text });
    await world.until(() => world.service.creates.length === 1);
    expect(world.service.creates[0]?.prompt).toBe(text);
  });
});

it("text with mentions, links and code fences reaches the job service as typed, and pings nobody when echoed", async () => {
  await using world = await World.start();
  world.service.script.completeAfterPolls(1, { prLink: PR });
  const text =
    "say <!channel> & <@U0BEN> &amp; <https://evil.example|the docs>\n```\nnpm i\n``` *bold* @here #docs";
  await world.slack.person(ANA).command({ channel: DOCS, text });
  await world.until(() => world.slack.messages(DOCS).length === 2);
  expect(world.service.creates[0]?.prompt).toBe(text);
  const [root, outcome] = world.slack.messages(DOCS);
  expect(world.slack.visibleText(root ?? outcome ?? never())).toContain(text);
  expect(root?.mentions).toEqual([`@${ANA}`]);
  expect(outcome?.mentions).toEqual([`@${ANA}`]);
  expect(root?.text).not.toContain("<!channel>");
  expect(root?.text).not.toContain("<https:");
});

describe("an unknown project name", () => {
  it("gets an ephemeral message that lists the known names", async () => {
    await using world = await World.start(twoProjects);
    await world.slack.person(ANA).command({ channel: DOCS, text: "project=<nope> fix it" });
    expect(ephemeralTexts(world)).toEqual([
      expect.stringContaining("There's no project “<nope>”. Choose from: docs, api."),
    ]);
    await nothingMore(world);
    expect(world.service.calls).toEqual([]);
  });

  it("in a mention gets the same", async () => {
    await using world = await World.start(twoProjects);
    await world.slack.person(ANA).mention({ channel: DOCS, text: "project=nope fix it" });
    await world.until(() => ephemeralTexts(world).length === 1);
    expect(ephemeralTexts(world)[0]).toContain("Choose from: docs, api.");
    expect(world.service.calls).toEqual([]);
  });

  it("is none when it is known: the job goes to that project", async () => {
    await using world = await World.start(twoProjects);
    await world.slack.person(ANA).command({ channel: DOCS, text: "project=API fix it" });
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix that" });
    await world.until(() => world.service.creates.length === 2);
    expect(world.service.creates.map(({ projectId, prompt }) => [projectId, prompt]).toSorted()).toEqual([
      ["api", "fix it"],
      ["docs", "fix that"],
    ]);
  });

  it("cannot be chosen in the form, which offers the known ones", async () => {
    await using world = await World.start(twoProjects);
    await world.slack.person(ANA).command({ channel: DOCS, text: "project=api" });
    const form = await world.form(ANA);
    await world.slack
      .person(ANA)
      .submit({ viewId: form.id, values: { instructions: { instructions: "fix it" } } });
    await world.until(() => world.service.creates.length === 1);
    expect(world.service.creates[0]?.projectId).toBe("api");
  });
});

describe("a job service that", () => {
  it("is down when it is asked: the request is kept, the thread says so, and it goes out once the service is back", async () => {
    await using world = await World.start();
    world.service.script.completeAfterPolls(1, { prLink: PR });
    await world.service.down();
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    await world.until(() => world.read(DOCS)[0]?.includes("The agent is unavailable"));
    await world.pass(600_000);
    await world.service.up();
    await world.until(() => world.slack.messages(DOCS).length === 2);
    expect(world.service.creates).toHaveLength(1);
    expect(world.read(DOCS)[1]).toContain("Your pull request is ready");
  });

  it.each([
    [429, { "retry-after": "120" }, /The agent has reached its limit\. .* starts around \d\d:\d\d UTC\./],
    [503, {}, /The agent is unavailable\./],
  ])("answers %i to a create is asked again, no sooner than it says", async (status, headers, said) => {
    await using world = await World.start();
    world.service.faults.add({ op: "create", times: 1, fault: { kind: "status", status, headers } });
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    await world.until(() => world.service.calls.length === 1);
    const refusedAt = world.clock.now();
    await world.until(() => said.test(world.read(DOCS)[0] ?? ""));
    await world.until(() => world.service.creates.length === 1);
    if (status === 429) expect(world.clock.now() - refusedAt).toBeGreaterThanOrEqual(120_000);
    expect(world.service.calls.filter(({ op }) => op === "create")).toHaveLength(2);
  });

  it("takes nothing until the deadline ends the turn, with Try again", async () => {
    await using world = await World.start({ env: { JOB_DEADLINE_MS: String(2 * 3_600_000) } });
    await world.service.down();
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    await world.pass(3 * 3_600_000);
    expect(world.read(DOCS)).toHaveLength(2);
    expect(world.read(DOCS)[1]).toContain("Not started: the agent was unavailable");
    expect(world.read(DOCS)[1]).toContain("[Try again]");
  });

  it.each([
    ["loses the answer to a create", { kind: "drop-after" as const }],
    ["answers a create too late", { kind: "hang-after" as const }],
    [
      "answers a create with a page",
      { kind: "body-after" as const, status: 200, body: "<html>hello</html>", contentType: "text/html" },
    ],
    ["answers a create with 500", { kind: "status" as const, status: 500 }],
    ["answers a create with 502", { kind: "status" as const, status: 502 }],
    [
      "answers a create with a record without id",
      { kind: "body-after" as const, status: 201, body: '{"status":"active"}' },
    ],
    [
      "answers a create with an unknown status",
      { kind: "body-after" as const, status: 201, body: '{"id":"j","status":"odd"}' },
    ],
  ])("%s: the outcome is unknown, it is not asked twice, and Try again starts one more", async (_, fault) => {
    await using world = await World.start({ env: { JOB_SERVICE_TIMEOUT_MS: "500" } });
    world.service.script.completeAfterPolls(1, { prLink: PR });
    world.service.faults.add({ op: "create", times: 1, fault });
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    await world.until(() => world.slack.messages(DOCS).length === 2);
    await nothingMore(world);
    const [root, unknown] = world.slack.messages(DOCS);
    if (root === undefined || unknown === undefined) throw new Error("no messages");
    expect(world.slack.visibleText(unknown)).toMatch(
      /got no answer, so it may be running|can.t tell whether your request started/,
    );
    expect(world.service.calls.filter(({ op }) => op === "create")).toHaveLength(1);

    const press = { channel: DOCS, messageTs: unknown.ts, actionId: "try_again" };
    expect((await world.slack.person(BEN).click(press)).status).toBe(200);
    expect((await world.slack.person(ANA).click(press)).status).toBe(200);
    await world.until(() => world.replies(DOCS, root.ts).length === 2);
    await nothingMore(world);
    const texts = world.replies(DOCS, root.ts).map((reply) => world.slack.visibleText(reply));
    expect(texts).toHaveLength(2);
    expect(texts[1]).toContain("@Ben Your pull request is ready");
    expect(world.read(DOCS)[0]).toMatch(/@Ben tried again:\n✅ acme\/docs#7/);
    expect(world.service.calls.filter(({ op }) => op === "create")).toHaveLength(2);
    await world.slack.until(() => ephemeralTexts(world).length === 1);
    expect(ephemeralTexts(world)[0]).toContain("@Ben already did that.");
  });

  it.each([
    [400, "The agent refused your request.", "too vague"],
    [401, "Docs Agent isn't set up correctly: its API key was refused.", null],
    [403, "Docs Agent isn't set up correctly: its API key was refused.", null],
    [404, "The project isn't set up correctly.", null],
  ])("answers %i to a create: rejected, with what to do", async (status, headline, said) => {
    await using world = await World.start();
    const body = { error: `too vague <!channel> ${DEFAULT_API_KEY}` };
    world.service.faults.add({ op: "create", times: 1, fault: { kind: "status", status, body } });
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    await world.until(() => world.slack.messages(DOCS).length === 2);
    await nothingMore(world);
    const [, outcome] = world.slack.messages(DOCS);
    const text = world.read(DOCS)[1] ?? "";
    expect(text).toContain(headline);
    if (said !== null) expect(text).toContain(said);
    expect(text).not.toContain(DEFAULT_API_KEY);
    expect(outcome?.mentions).toEqual([`@${ANA}`]);
    expect(world.service.calls).toHaveLength(1);
  });

  it("fails, is slow or talks nonsense while a job runs: the thread says so, and the outcome arrives all the same", async () => {
    await using world = await World.start();
    const { service } = world;
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    await world.until(() => service.gets.length === 1);
    const [job] = service.creates;
    for (const fault of [
      { kind: "status", status: 500 },
      { kind: "status", status: 429, headers: { "retry-after": "90" } },
      { kind: "hang-before" },
      { kind: "drop-before" },
      { kind: "body", status: 200, body: "<html>", contentType: "text/html" },
      { kind: "body", status: 200, body: "{}" },
      { kind: "status", status: 404, body: {} },
      { kind: "status", status: 401, body: {} },
    ] as const) {
      service.faults.add({ op: "get", times: 1, fault });
    }
    await world.until(() => world.read(DOCS)[0]?.includes("I can't reach the agent right now"));
    await world.until(() => world.read(DOCS)[0]?.includes("The agent is working"), 3_600_000);
    service.finish(job?.jobId ?? "", { status: "completed", prLink: PR });
    await world.until(() => world.slack.messages(DOCS).length === 2);
    expect(world.read(DOCS)[1]).toContain("Your pull request is ready");
  });

  it.each([
    [
      "no longer has the job",
      { kind: "status" as const, status: 404, body: {} },
      "no longer has this request",
      "[Try again]",
    ],
    [
      "no longer takes the key",
      { kind: "status" as const, status: 401, body: {} },
      "its API key was refused",
      "[Keep watching]",
    ],
    [
      "answers with a status nobody knows",
      { kind: "body" as const, status: 200, body: '{"id":"j","status":"odd"}' },
      "I can't tell how your request ended",
      "[Keep watching]",
    ],
  ])("%s, and goes on so: the turn ends with what to do", async (_, fault, headline, button) => {
    await using world = await World.start();
    world.service.faults.add({ op: "get", fault });
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    await world.until(() => world.slack.messages(DOCS).length === 2);
    await nothingMore(world);
    expect(world.read(DOCS)).toHaveLength(2);
    expect(world.read(DOCS)[1]).toContain(headline);
    expect(world.read(DOCS)[1]).toContain(button);
  });
});

it.each([
  "http://github.com/acme/docs/pull/7",
  "https://github.com@evil.example/acme/docs/pull/7",
  "javascript:alert(1)",
  "https://github.com/acme/docs/pull/7|<!channel>",
  "https://gіthub.com/acme/docs/pull/7",
])("a prLink like %s is shown as text, never as a link", async (prLink) => {
  await using world = await World.start();
  world.service.script.completeAfterPolls(1, { prLink });
  await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
  await world.until(() => world.slack.messages(DOCS).length === 2);
  const [, outcome] = world.slack.messages(DOCS);
  expect(world.read(DOCS)[1]).toContain(prLink);
  expect(world.read(DOCS)[1]).not.toContain("[View pull request]");
  expect(JSON.stringify(outcome?.blocks)).not.toContain('"url"');
  expect(JSON.stringify(outcome?.blocks)).not.toMatch(/"mrkdwn","text":"[^"]*<(?:http|javascript)/);
  expect(outcome?.text).not.toMatch(/<(?:http|javascript|!)/);
  expect(outcome?.mentions).toEqual([`@${ANA}`]);
});

it("a prLink on a code host that the operator named is a link although it is http", async () => {
  await using world = await World.start({ env: { PULL_REQUEST_HTTP_ORIGINS: "http://git.internal:3000" } });
  world.service.script.completeAfterPolls(1, { prLink: "http://git.internal:3000/acme/docs/pull/7" });
  await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
  await world.until(() => world.slack.messages(DOCS).length === 2);
  expect(world.read(DOCS)[1]).toContain("[View pull request]");
});

describe("Slack", () => {
  it.each([
    ["429", { kind: "ratelimited" as const, retryAfterS: 30 }],
    ["503", { kind: "http" as const, status: 503 }],
    ["500 after it took the message", { kind: "http" as const, status: 500, isDone: true }],
    ["no answer after it took the message", { kind: "drop-after" as const }],
    ["no answer", { kind: "drop-before" as const }],
    ["internal_error", { kind: "error" as const, error: "internal_error" }],
    ["a page that is no JSON", { kind: "garbage" as const }],
  ])("answers %s: everything is delivered later, once, in order", async (_, fault) => {
    await using world = await World.start();
    world.service.script.completeAfterPolls(1, { prLink: PR });
    world.slack.faults.add({ method: "chat.postMessage", times: 2, fault });
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix page one" });
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix page two" });
    await world.until(() => world.service.creates.length === 2);
    world.slack.faults.add({ method: "chat.postMessage", times: 2, fault });
    world.slack.faults.add({ method: "chat.update", times: 2, fault });
    await nothingMore(world);
    const roots = world.slack.messages(DOCS).filter(({ thread_ts, ts }) => (thread_ts ?? ts) === ts);
    expect(roots.map((root) => world.slack.visibleText(root))).toEqual([
      expect.stringContaining("fix page one"),
      expect.stringContaining("fix page two"),
    ]);
    for (const root of roots) {
      expect(world.slack.visibleText(root)).toContain("✅ acme/docs#");
      expect(world.replies(DOCS, root.ts)).toHaveLength(1);
    }
  });

  it("limits one channel: the others go on", async () => {
    await using world = await World.start();
    const other = world.slack.workspace.addChannel({ name: "other", members: [ANA], withBot: true });
    const isDocs = (call: { args: Record<string, unknown> }) => call.args["channel"] === DOCS;
    world.slack.faults.add({
      method: "chat.postMessage",
      when: isDocs,
      fault: { kind: "ratelimited", retryAfterS: 300 },
    });
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix page one" });
    await world.slack.person(ANA).command({ channel: other.id, text: "fix page two" });
    await world.pass(10_000);
    expect(world.read(DOCS)).toEqual([]);
    expect(world.read(other.id)).toHaveLength(1);
    await world.pass(300_000);
    expect(world.read(DOCS)).toHaveLength(1);
  });

  it("gets at most about one message a second for a channel", async () => {
    await using world = await World.start();
    world.service.script.completeAfterPolls(1, { prLink: PR });
    await Promise.all(
      Array.from({ length: 5 }, (_, n) =>
        world.slack.person(ANA).command({ channel: DOCS, text: `fix page ${n}` }),
      ),
    );
    await nothingMore(world);
    const posts = world.slack.calls.filter(({ method }) => method === "chat.postMessage").map(({ at }) => at);
    expect(posts).toHaveLength(10);
    for (const [index, at] of posts.entries()) {
      if (index > 0) expect(at - (posts[index - 1] ?? 0)).toBeGreaterThanOrEqual(1000);
    }
  });
});

describe("a place that cannot take the outcome", () => {
  const ways: [string, (world: World, rootTs: string) => void, string][] = [
    [
      "a thread deleted",
      (world, ts) => world.slack.workspace.deleteMessage(DOCS, ts),
      "The thread in #docs was deleted",
    ],
    [
      "a thread deleted, where Slack posts the reply in the channel",
      (world, ts) => {
        world.slack.workspace.orphanedReplies = "unthread";
        world.slack.workspace.deleteMessage(DOCS, ts);
      },
      "The thread in #docs was deleted",
    ],
    [
      "a channel archived",
      (world) => world.slack.workspace.archiveChannel(DOCS),
      "#docs is archived, so I'm replying here",
    ],
    ["the bot removed", (world) => world.slack.workspace.kick(DOCS), "I'm not in #docs"],
  ];
  it.each(ways)("(%s) sends it to the requester directly", async (_, happens, why) => {
    await using world = await World.start();
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix the quickstart" });
    await world.until(() => world.service.gets.length === 1);
    const [root] = world.slack.messages(DOCS);
    happens(world, root?.ts ?? "");
    world.service.finish(world.service.creates[0]?.jobId ?? "", { status: "completed", prLink: PR });
    await world.until(() => world.slack.dm(ANA).length === 1);
    await nothingMore(world);
    const texts = world.slack.dm(ANA).map((message) => world.slack.visibleText(message));
    expect(texts).toHaveLength(1);
    expect(texts[0]).toContain(why);
    expect(texts[0]).toContain("Your pull request is ready");
    expect(texts[0]).toContain("fix the quickstart");
    expect(world.read(DOCS).filter((text) => text.includes("[View pull request]"))).toEqual([]);
  });

  it("(the bot never in the channel) tells the person at once how to invite it, and reports directly", async () => {
    await using world = await World.start();
    world.service.script.completeAfterPolls(1, { prLink: PR });
    await world.slack.person(ANA).command({ channel: RANDOM, text: "fix the quickstart" });
    await world.settle();
    expect(ephemeralTexts(world)).toEqual([expect.stringContaining("/invite @docs-agent")]);
    await nothingMore(world);
    const texts = world.slack.dm(ANA).map((message) => world.slack.visibleText(message));
    expect(texts).toEqual([
      expect.stringContaining(
        "I'm not in #random, so I'm replying here. To get replies there, type `/invite @docs-agent`",
      ),
      expect.stringContaining("Your pull request is ready"),
    ]);
    expect(world.read(RANDOM)).toEqual([]);
    expect(world.service.creates).toHaveLength(1);
  });

  it("(a shortcut where the bot is not) does the same", async () => {
    await using world = await World.start();
    world.service.script.completeAfterPolls(1, { prLink: PR });
    const message = world.slack.workspace.say({ channel: RANDOM, user: BEN, text: "the FAQ is wrong" });
    await world.slack
      .person(ANA)
      .shortcut({ callbackId: "fix_these_docs", channel: RANDOM, messageTs: message.ts });
    await world.slack.person(ANA).submit({ viewId: (await world.form(ANA)).id });
    await nothingMore(world);
    expect(ephemeralTexts(world)).toEqual([expect.stringContaining("/invite @docs-agent")]);
    const [status, ...others] = world.slack.dm(ANA);
    expect(others).toHaveLength(1);
    // The message that it is about is a press away.
    expect(JSON.stringify(status?.blocks)).toContain(`/archives/${RANDOM}/p${message.ts.replace(".", "")}"`);
    expect(status && world.slack.visibleText(status)).toContain("[View message]");
    expect(world.service.creates[0]?.prompt).toContain("> the FAQ is wrong");
  });
});

describe("a stored record that does not parse", () => {
  it("is logged, set aside and counted; the person is told; the rest keeps working", async () => {
    await using world = await World.start();
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix page one" });
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix page two" });
    await world.until(() => world.service.gets.length === 2);
    await world.stopApp();
    const db = new DatabaseSync(world.storePath);
    const { key } = db.prepare("SELECT key FROM kv WHERE key LIKE 'turn:%' ORDER BY key LIMIT 1").get() ?? {};
    db.prepare("UPDATE kv SET value = ? WHERE key = ?").run('{"value":{"version":99}}', key ?? null);
    db.close();
    await world.startApp();
    world.service.script.completeAfterPolls(0, { prLink: PR });
    for (const { jobId } of world.service.creates)
      world.service.finish(jobId, { status: "completed", prLink: PR });
    await nothingMore(world);
    expect(world.read(DOCS).filter((text) => text.includes("[View pull request]"))).toHaveLength(1);
    expect(world.slack.dm(ANA).map((message) => world.slack.visibleText(message))).toEqual([
      expect.stringContaining("I lost track of your request in #docs"),
    ]);
    const ready = await (await fetch(`${world.appUrl}/readyz`)).json();
    expect(ready).toMatchObject({ status: "ok", records_set_aside: 1, tasks: { dead: 1 } });
    expect(world.logger.text("error")).toContain("set aside");
  });
});

it("no secret appears in any message, log line or answer, whatever goes wrong", async () => {
  await using world = await World.start();
  world.service.script.completeAfterPolls(5, { prLink: PR });
  world.service.faults.add({
    op: "get",
    times: 2,
    fault: { kind: "status", status: 401, body: { error: DEFAULT_API_KEY } },
  });
  world.slack.faults.add({ method: "chat.postMessage", fault: { kind: "error", error: `x_${BOT_TOKEN}` } });
  world.slack.faults.add({
    method: "chat.postMessage",
    fault: { kind: "http", status: 500, body: BOT_TOKEN },
  });
  await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
  await nothingMore(world);
  const everything = JSON.stringify([
    world.slack.messages(DOCS),
    world.slack.dm(ANA),
    world.slack.ephemerals(),
    world.logger.lines,
  ]);
  for (const secret of SECRETS) expect(everything).not.toContain(secret);
});

function never(): never {
  throw new Error("nothing was posted");
}
