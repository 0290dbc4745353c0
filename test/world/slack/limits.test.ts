// @module-tag all

import { WebAPIRateLimitedError } from "@slack/web-api";
import { describe, expect, it } from "vitest";
import { DISTRIBUTED_APP, INTERNAL_APP } from "../../../world/slack/index.ts";
import { botToken, startHttpApp, startSlack } from "./setup.ts";

/** "taken", or how long Slack says to wait. */
async function answerTo(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "taken";
  } catch (thrown) {
    if (thrown instanceof WebAPIRateLimitedError) return `wait ${thrown.retryAfter} s`;
    throw thrown;
  }
}

describe("rates", () => {
  it("does not limit anything until it is told to", async () => {
    await using world = await startSlack();
    const { client, docs, slack } = world;
    for (let count = 0; count < 20; count += 1) {
      expect(await answerTo(client.chat.postMessage({ channel: docs.id, text: "x" }))).toBe("taken");
    }
    expect(slack.refusedCalls).toEqual([]);
  });

  it("takes three posts in three seconds in each channel", async () => {
    await using world = await startSlack({ limits: INTERNAL_APP });
    const { client, clock, docs, slack, workspace, ada } = world;
    const other = workspace.addChannel({ name: "other", members: [ada.id], withBot: true });
    const post = (channel = docs.id) => answerTo(client.chat.postMessage({ channel, text: "x" }));
    expect([await post(), await post(), await post(), await post()]).toEqual([
      "taken",
      "taken",
      "taken",
      "wait 3 s",
    ]);
    expect(await post(other.id)).toBe("taken");
    clock.advance(2999);
    expect(await post()).toBe("wait 1 s");
    clock.advance(1);
    expect(await post()).toBe("taken");
    expect(slack.messages(docs.id)).toHaveLength(4);
    expect(slack.refusedCalls.map(({ method, result }) => [method, result])).toEqual([
      ["chat.postMessage", "ratelimited"],
      ["chat.postMessage", "ratelimited"],
    ]);
  });

  it("refuses with HTTP 429, Retry-After and Slack's word, whoever asks", async () => {
    await using world = await startSlack({ limits: { posts: { calls: 0, perMs: 7000 } } });
    const { docs, slack } = world;
    const answer = await fetch(`${slack.apiUrl}chat.postMessage`, {
      method: "POST",
      headers: { authorization: `Bearer ${botToken}`, "content-type": "application/json" },
      body: JSON.stringify({ channel: docs.id, text: "x" }),
    });
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "7"]);
    expect(await answer.json()).toEqual({ ok: false, error: "ratelimited" });
    expect(slack.messages(docs.id)).toEqual([]);
  });

  it("lets one post a second through for as long as it is asked", async () => {
    await using world = await startSlack({ limits: INTERNAL_APP });
    const { client, clock, docs, slack } = world;
    for (let count = 0; count < 30; count += 1) {
      await client.chat.postMessage({ channel: docs.id, text: "x" });
      clock.advance(1000);
    }
    expect(slack.refusedCalls).toEqual([]);
  });

  it("takes 50 updates a minute in all channels together, and posts beside them", async () => {
    await using world = await startSlack({ limits: INTERNAL_APP });
    const { client, clock, docs, slack, workspace, ada } = world;
    const other = workspace.addChannel({ name: "other", members: [ada.id], withBot: true });
    const places = await Promise.all(
      [docs, other].map(({ id: channel }) => client.chat.postMessage({ channel, text: "x" })),
    );
    const update = (index: number) => {
      const { channel = "", ts = "" } = places[index % 2] ?? {};
      return answerTo(client.chat.update({ channel, ts, text: `${index}` }));
    };
    for (let index = 0; index < 50; index += 1) expect(await update(index)).toBe("taken");
    clock.advance(20_000);
    expect(await update(50)).toBe("wait 40 s");
    expect(await answerTo(client.chat.postMessage({ channel: docs.id, text: "x" }))).toBe("taken");
    clock.advance(40_000);
    expect(await update(51)).toBe("taken");
    expect(slack.refusedCalls).toHaveLength(1);
  });

  it("says to wait for as long as the test wants", async () => {
    await using world = await startSlack({ limits: { posts: { calls: 1, perMs: 1000 }, retryAfterS: 30 } });
    const { client, docs, slack } = world;
    const post = () => answerTo(client.chat.postMessage({ channel: docs.id, text: "x" }));
    expect([await post(), await post()]).toEqual(["taken", "wait 30 s"]);
    slack.limits.clear();
    expect([await post(), await post()]).toEqual(["taken", "taken"]);
  });
});

describe("the history of an app that is distributed outside the Marketplace", () => {
  it("is one call a minute of each method, with 15 messages", async () => {
    await using world = await startSlack({ limits: DISTRIBUTED_APP });
    const { client, clock, docs, workspace, ada } = world;
    const root = workspace.say({ channel: docs.id, user: ada.id, text: "root" });
    for (let count = 0; count < 20; count += 1) {
      workspace.say({ channel: docs.id, user: ada.id, text: `${count}`, threadTs: root.ts });
    }
    const first = await client.conversations.replies({ channel: docs.id, ts: root.ts, limit: 100 });
    expect(first.messages).toHaveLength(15);
    expect(first.has_more).toBe(true);
    const cursor = first.response_metadata?.next_cursor ?? "";
    const next = () => client.conversations.replies({ channel: docs.id, ts: root.ts, cursor });
    expect(await answerTo(next())).toBe("wait 60 s");
    expect((await client.conversations.history({ channel: docs.id })).messages).toHaveLength(1);
    clock.advance(60_000);
    expect((await next()).messages?.map(({ text }) => text)).toEqual(["14", "15", "16", "17", "18", "19"]);
  });
});

describe("late visibility", () => {
  it("hides a post from history and replies for a while, when it can already be edited", async () => {
    await using world = await startSlack({ limits: { visibleAfterMs: 5000 } });
    const { client, clock, docs } = world;
    const { ts = "" } = await client.chat.postMessage({ channel: docs.id, text: "root" });
    clock.advance(4000);
    const reply = await client.chat.postMessage({ channel: docs.id, text: "reply", thread_ts: ts });
    await client.chat.update({ channel: docs.id, ts: reply.ts ?? "", text: "edited" });
    const history = async () => (await client.conversations.history({ channel: docs.id })).messages;
    const thread = async () =>
      (await client.conversations.replies({ channel: docs.id, ts })).messages?.map(({ text }) => text);
    expect(await history()).toEqual([]);
    await expect(thread()).rejects.toThrow("thread_not_found");
    clock.advance(1000);
    expect(await history()).toHaveLength(1);
    expect(await thread()).toEqual(["root"]);
    clock.advance(4000);
    expect(await thread()).toEqual(["root", "edited"]);
  });
});

describe("Slack's clock", () => {
  const call = (apiUrl: string, method: string) =>
    fetch(`${apiUrl}${method}`, { method: "POST", headers: { authorization: `Bearer ${botToken}` } });

  it("is in the Date header of every answer, refusals included", async () => {
    await using world = await startSlack({ limits: { history: { calls: 0, perMs: 1000 } } });
    const { clock, slack } = world;
    slack.faults.add({ method: "auth.test", fault: { kind: "http", status: 503 } });
    clock.advance(1_234_000);
    const date = new Date(clock.now()).toUTCString();
    for (const method of ["auth.test", "auth.test", "no.method", "conversations.history"]) {
      expect((await call(slack.apiUrl, method)).headers.get("date")).toBe(date);
    }
    expect(slack.refusedCalls.map(({ method }) => method)).toEqual(["conversations.history"]);
  });

  it("can be ahead of ours or behind it: timestamps, Date and signatures", async () => {
    await using world = await startSlack();
    const { ada, client, clock, docs, slack } = world;
    for (const clockAheadMs of [90_000, -90_000]) {
      slack.limits.set({ clockAheadMs });
      const slackMs = clock.now() + clockAheadMs;
      const { headers } = await call(slack.apiUrl, "auth.test");
      expect(headers.get("date")).toBe(new Date(slackMs).toUTCString());
    }
    slack.limits.set({ clockAheadMs: 90_000 });
    const { ts } = await client.chat.postMessage({ channel: docs.id, text: "x" });
    expect(Math.floor(Number(ts))).toBe((clock.now() + 90_000) / 1000);
    await using _app = await startHttpApp(slack, (app) =>
      app.command("/docs-agent", async ({ ack }) => ack()),
    );
    // Bolt takes five minutes of difference.
    for (const [clockAheadMs, status] of [
      [240_000, 200],
      [-240_000, 200],
      [-360_000, 401],
    ] as const) {
      slack.limits.set({ clockAheadMs });
      expect((await slack.person(ada.id).command({ channel: docs.id })).status).toBe(status);
    }
  });
});
