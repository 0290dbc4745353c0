// @module-tag all

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { createSlackSide } from "../../../world/slack/index.ts";
import type { PageState } from "../../../playground/workspace/index.ts";
import { makeCallbacks, post, rawRequest, startWorkspace } from "./setup.ts";

/** An app on loopback that does with Slack's requests what `take` says. */
async function listen(take: RequestListener) {
  const server = createServer(take);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/slack/events`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function stateOf(url: string, look: Record<string, string>): Promise<PageState & { version: number }> {
  const response = await fetch(new URL(`api/state?${new URLSearchParams(look).toString()}`, url));
  expect(response.status).toBe(200);
  return (await response.json()) as PageState & { version: number };
}

it("links to a page of every message, which loads nothing", async () => {
  await using world = await startWorkspace({ gallery: "<p>all of them</p>" });
  const { links } = await stateOf(world.page.url, { as: world.people.mara });
  expect(links).toEqual([{ label: "All messages", url: "/messages" }]);
  const page = await fetch(new URL("/messages", world.page.url));
  expect(await page.text()).toBe("<p>all of them</p>");
  expect(page.headers.get("content-security-policy")).toMatch(
    /^default-src 'none'; script-src 'unsafe-inline' data:;/,
  );
});

describe("what the page is told", () => {
  it("is the workspace as one person sees it", async () => {
    await using world = await startWorkspace({ links: [{ label: "Code host", url: "http://127.0.0.1:1/" }] });
    const { slack, people, channels } = world;
    slack.workspace.addChannel({ name: "secret", members: [people.theo], isPrivate: true });
    const state = await stateOf(world.page.url, { as: people.mara, channel: channels.docs });
    expect(state).toMatchObject({
      me: people.mara,
      links: [{ label: "Code host" }],
      weather: { slack: "clear", isAppRunning: true },
      surface: {
        commands: [
          { command: "/docs-agent", usageHint: "[project=name] what to change | list | status | help" },
        ],
        messageShortcuts: [{ name: "Fix these docs", callbackId: "fix_these_docs" }],
      },
    });
    expect(state.channels.map(({ name, withBot }) => [name, withBot])).toEqual([
      ["docs", true],
      ["support", true],
      ["general", false],
    ]);
    expect(state.current?.messages.map(({ text }) => text.slice(0, 20))).toEqual([
      "I just read the quic",
      "The quickstart has t",
      "The link to the API ",
      expect.stringContaining(`<@${people.theo}>`),
    ]);
    expect(state.current?.messages[1]?.replies).toMatchObject({ count: 1, users: [people.priya] });
    const theos = await stateOf(world.page.url, { as: people.theo });
    expect(theos.channels.map(({ name }) => name)).toContain("secret");
  });

  it("holds no ephemeral message, form or private metadata of anybody else", async () => {
    await using world = await startWorkspace();
    const { slack, people, channels } = world;
    slack.workspace.postEphemeral({ channel: channels.docs, user: people.theo, from: "U1", text: "psst" });
    const look = { channel: channels.docs };
    expect(JSON.stringify(await stateOf(world.page.url, { ...look, as: people.mara }))).not.toContain("psst");
    expect(JSON.stringify(await stateOf(world.page.url, { ...look, as: people.theo }))).toContain("psst");
  });

  it("marks what is unread, and forgets it when it was read", async () => {
    await using world = await startWorkspace();
    const { people, channels, page } = world;
    const before = await stateOf(page.url, { as: people.theo, channel: channels.docs });
    expect(before.channels[0]).toMatchObject({ name: "docs", unread: 4, forMe: 1 });
    const last = before.current?.messages.at(-1)?.ts;
    await world.act({ kind: "read", channel: channels.docs, ts: last }, people.theo);
    const after = await stateOf(page.url, { as: people.theo });
    // Priya's reply in Theo's own thread is still unread.
    expect(after.channels[0]).toMatchObject({ name: "docs", unread: 1, forMe: 0 });
    expect((await stateOf(page.url, { as: people.jonas })).channels[0]).toMatchObject({ unread: 3 });
  });

  it("comes as an event at every change, and at once after connecting", async () => {
    await using world = await startWorkspace();
    const ended = new AbortController();
    const response = await fetch(new URL("api/events", world.page.url), { signal: ended.signal });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let seen = "";
    async function until(wanted: RegExp): Promise<string> {
      for (;;) {
        const found = wanted.exec(seen)?.[1];
        if (found !== undefined) return found;
        seen += (await reader?.read())?.value ?? "";
      }
    }
    const first = Number(await until(/event: change\ndata: \{[^}]*"version":(\d+)\}/));
    seen = "";
    world.slack.workspace.say({ channel: world.channels.docs, user: world.people.theo, text: "news" });
    expect(Number(await until(/"version":(\d+)\}/))).toBeGreaterThan(first);
    ended.abort();
  });

  it("ends its streams when the page closes", async () => {
    await using world = await startWorkspace();
    const response = await fetch(new URL("api/events", world.page.url));
    const ended = response.text().catch(() => "cut");
    await world.page.close();
    expect(await ended).toBeTypeOf("string");
  });
});

describe("what a person does", () => {
  it("is said in the workspace, with names that stand for people and text that stays text", async () => {
    await using world = await startWorkspace();
    const { slack, people, channels } = world;
    const text = `@Theo, \`@Theo\` <@${people.jonas}> <!channel> a@theo.org #support & @nobody`;
    expect(await world.act({ kind: "compose", channel: channels.docs, text })).toEqual({
      status: 200,
      body: {},
    });
    const message = slack.messages(channels.docs).at(-1);
    expect(message).toMatchObject({
      user: people.mara,
      text: `<@${people.theo}>, \`@Theo\` &lt;@${people.jonas}&gt; &lt;!channel&gt; a@theo.org <#${channels.support}> &amp; @nobody`,
      mentions: [`@${people.theo}`],
    });
  });

  it("goes into a thread, and reaches the app where it mentions the bot", async () => {
    await using world = await startWorkspace({ eventRetryDelaysMs: [] });
    const { slack, channels } = world;
    const root = slack.messages(channels.docs)[0]?.ts ?? "";
    await world.act({ kind: "compose", channel: channels.docs, threadTs: root, text: "@docs-agent help" });
    const [, reply] = slack.thread(channels.docs, root);
    expect(reply).toMatchObject({ text: `<@${slack.workspace.bot.userId}> help`, thread_ts: root });
  });

  it("gets the workspace's notice where a command cannot work", async () => {
    await using world = await startWorkspace();
    const { slack, people, channels } = world;
    const root = slack.messages(channels.docs)[0]?.ts ?? "";
    await world.act({ kind: "compose", channel: channels.docs, text: "/nope <b>" });
    await world.act({ kind: "compose", channel: channels.docs, text: "/docs-agent fix", threadTs: root });
    await world.act({ kind: "compose", channel: channels.docs, text: "/docs-agent fix" });
    expect(slack.ephemerals(people.mara).map(slack.visibleText)).toEqual([
      expect.stringContaining("/nope is not a valid command"),
      "/docs-agent is not supported in threads. Sorry!",
      '/docs-agent failed with the error "dispatch_failed"',
    ]);
    for (const { ts } of slack.ephemerals(people.mara)) await world.act({ kind: "dismiss", messageTs: ts });
    expect(slack.ephemerals()).toEqual([]);
  });

  it("invites the bot and removes it", async () => {
    await using world = await startWorkspace();
    const { slack, channels } = world;
    await world.act({ kind: "compose", channel: channels.general, text: "/invite @docs-agent" });
    expect(slack.workspace.isBotIn(channels.general)).toBe(true);
    await world.act({ kind: "compose", channel: channels.general, text: "/remove docs-agent" });
    expect(slack.workspace.isBotIn(channels.general)).toBe(false);
  });

  it("opens the direct messages with the app, and writes there", async () => {
    await using world = await startWorkspace();
    const opened = await world.act({ kind: "open-direct-message" });
    expect(opened).toMatchObject({ status: 200, body: { channel: expect.stringMatching(/^D/) } });
    const written = await world.act({ kind: "compose", channel: opened.body["channel"], text: "hi" });
    expect(written.status).toBe(200);
    expect(world.slack.dm(world.people.mara).map(({ text }) => text)).toEqual(["hi"]);
  });

  it("is refused where Slack's client would not let them", async () => {
    await using world = await startWorkspace();
    const { slack, people, channels } = world;
    const secret = slack.workspace.addChannel({ name: "secret", members: [people.theo], isPrivate: true });
    const acts = [
      { kind: "compose", channel: secret.id, text: "hi" },
      { kind: "compose", channel: secret.id, text: "/invite @docs-agent" },
      { kind: "join", channel: secret.id },
      { kind: "close-view", viewId: "V1" },
    ];
    for (const act of acts)
      expect(await world.act(act)).toMatchObject({ status: 409, body: { error: expect.any(String) } });
    expect(await world.act({ kind: "join", channel: "C0NONE" })).toMatchObject({ status: 404 });
    expect(await world.act({ kind: "join", channel: channels.docs }, "U0NOBODY")).toMatchObject({
      status: 404,
    });
    expect(await world.act({ kind: "fly" })).toMatchObject({ status: 400 });
    expect(slack.workspace.isBotIn(secret.id)).toBe(false);
  });

  it("is sent to the app again, as Slack does with events, when the app was away", async () => {
    await using world = await startWorkspace({ eventRetryDelaysMs: [1] });
    const { slack, channels } = world;
    const retries: unknown[] = [];
    const retried = Promise.withResolvers<void>();
    await using app = await listen((request, response) => {
      retries.push([request.headers["x-slack-retry-num"], request.headers["x-slack-retry-reason"]]);
      response.writeHead(retries.length === 1 ? 500 : 200).end();
      if (retries.length === 2) retried.resolve();
    });
    slack.setAppUrl(app.url);
    await world.act({ kind: "compose", channel: channels.docs, text: "@docs-agent fix it" });
    await retried.promise;
    expect(retries).toEqual([
      [undefined, undefined],
      ["1", "http_error"],
    ]);
  });
});

it("a mention that nobody took is shown as pending, with the time of the next try", async () => {
  await using world = await startWorkspace({ eventRetryDelaysMs: [60_000] });
  const { page, channels } = world;
  expect((await stateOf(page.url, {})).pending).toBeNull();
  const before = Date.now();
  await world.act({ kind: "compose", channel: channels.docs, text: "@docs-agent fix it" });
  const { pending } = await stateOf(page.url, {});
  expect(pending?.count).toBe(1);
  expect(pending?.nextAtMs).toBeGreaterThanOrEqual(before + 60_000);
});

it("somebody who mentions the app where it isn't is asked, privately, whether to invite it", async () => {
  await using world = await startWorkspace();
  const { slack, page, channels, people } = world;
  const { general: channel } = channels;
  const questions = async (as: string) =>
    (await stateOf(page.url, { as, channel })).current?.messages.filter(({ isEphemeral }) => isEphemeral) ??
    [];
  const press = async (actionId: string) => {
    const [question] = await questions(people.mara);
    const at = { channel, messageTs: question?.ts, isEphemeral: true, blockId: "choices" };
    expect(await world.act({ kind: "click", actionId, ...at })).toMatchObject({ status: 200, body: {} });
  };
  for (const [answer, isIn] of [
    ["do_nothing", false],
    ["invite_mentioned", true],
  ] as const) {
    await world.act({ kind: "compose", channel, text: "@docs-agent fix it" });
    expect((await questions(people.mara)).map(({ text }) => text)).toEqual([
      `You mentioned <@${slack.workspace.bot.userId}>, but they're not in this channel.`,
    ]);
    expect(await questions(people.theo)).toEqual([]);
    await press(answer);
    expect(await questions(people.mara)).toEqual([]);
    expect(slack.workspace.isBotIn(channel)).toBe(isIn);
  }
  await world.act({ kind: "compose", channel, text: "@docs-agent fix it" });
  expect(await questions(people.mara)).toEqual([]);
});

it("a mention that the app was killed over reaches it where it runs now", async () => {
  await using world = await startWorkspace({ eventRetryDelaysMs: [1] });
  const { slack, channels } = world;
  const arrived = Promise.withResolvers<string>();
  await using again = await listen((request, response) => {
    arrived.resolve(String(request.headers["x-slack-retry-num"]));
    response.end();
  });
  await using killed = await listen((request) => {
    slack.setAppUrl(again.url);
    request.socket.destroy();
  });
  slack.setAppUrl(killed.url);
  await world.act({ kind: "compose", channel: channels.docs, text: "@docs-agent fix it" });
  expect(await arrived.promise).toBe("1");
});

it("serves the page's code without its types, line by line as it was written", async () => {
  await using world = await startWorkspace();
  for (const name of ["main.ts", "dom.ts", "theme.ts"]) {
    const answer = await fetch(new URL(`assets/${name}`, world.page.url));
    const served = await answer.text();
    const written = readFileSync(
      new URL(`../../../playground/workspace/public/${name}`, import.meta.url),
      "utf8",
    );
    expect(answer.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(served).not.toMatch(/import type|interface |: string/);
    expect(served.split("\n").map((line) => line.length)).toEqual(
      written.split("\n").map((line) => line.length),
    );
  }
  const main = await (await fetch(new URL("assets/main.ts", world.page.url))).text();
  for (const [, file = ""] of main.matchAll(/from "\.\/([^"]+)"/g)) {
    expect((await fetch(new URL(`assets/${file}`, world.page.url))).status).toBe(200);
  }
});

describe("who may ask", () => {
  it("is only this address: a foreign Host gets nothing", async () => {
    await using world = await startWorkspace();
    const { host, port } = new URL(world.page.url);
    for (const foreign of ["evil.test", `evil.test:${port}`, "127.0.0.1", `127.0.0.1.nip.test:${port}`]) {
      for (const path of ["", "api/state", "api/events", "assets/main.ts"]) {
        const answer = await rawRequest(`${world.page.url}${path}`, { headers: { host: foreign } });
        expect(answer).toEqual({ status: 403, body: expect.not.stringContaining("page-token") });
      }
    }
    for (const own of [host, `localhost:${port}`]) {
      expect(await rawRequest(world.page.url, { headers: { host: own } })).toMatchObject({ status: 200 });
    }
  });

  it("is only the page itself: a foreign origin or token changes nothing", async () => {
    await using world = await startWorkspace();
    const { slack, people, channels, token, page } = world;
    const { origin, host } = new URL(page.url);
    const good = { host, origin, "content-type": "application/json", "x-page-token": token };
    const body = JSON.stringify({
      as: people.mara,
      act: { kind: "compose", channel: channels.docs, text: "hi" },
    });
    const before = slack.messages(channels.docs).length;
    const wrong: Record<string, string>[] = [
      { ...good, origin: "https://evil.test" },
      { ...good, origin: "null" },
      { ...good, "x-page-token": "0".repeat(token.length) },
      { ...good, "x-page-token": "" },
      { host, "content-type": "application/json", "x-page-token": token },
      { host, origin, "content-type": "application/json" },
    ];
    for (const headers of wrong) {
      for (const path of ["api/act", "api/weather"]) {
        const answer = await rawRequest(`${page.url}${path}`, { method: "POST", headers, body });
        expect(answer.status).toBe(403);
      }
    }
    const asText = await rawRequest(`${page.url}api/act`, {
      method: "POST",
      headers: { ...good, "content-type": "text/plain" },
      body,
    });
    expect(asText.status).toBe(415);
    const huge = await rawRequest(`${page.url}api/act`, {
      method: "POST",
      headers: good,
      body: JSON.stringify("x".repeat(300_000)),
    });
    expect(huge.status).toBe(413);
    expect(slack.messages(channels.docs)).toHaveLength(before);
    const right = await rawRequest(`${page.url}api/act`, { method: "POST", headers: good, body });
    expect(right.status).toBe(200);
  });

  it("gets a page that can load nothing from elsewhere and runs no inline script", async () => {
    await using world = await startWorkspace();
    const response = await fetch(world.page.url);
    const policy = response.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
    expect(await response.text()).not.toMatch(/<script(?![^>]* src=)|\son\w+=|style=/);
    for (const path of ["assets/../index.ts", "assets/%2e%2e%2findex.ts", "assets/nope.ts", "nope"]) {
      expect((await fetch(new URL(path, world.page.url))).status).toBe(404);
    }
  });
});

describe("the weather", () => {
  it("makes Slack refuse every call of the app, and takes back only its own faults", async () => {
    const done: string[] = [];
    await using world = await startWorkspace({ callbacks: makeCallbacks(done) });
    const { slack, page, token } = world;
    slack.faults.add({ method: "users.info", fault: { kind: "error", error: "mine" } });
    async function call(method: string) {
      const response = await fetch(`${slack.apiUrl}${method}`, {
        method: "POST",
        headers: { authorization: "Bearer xoxb-test" },
        signal: AbortSignal.timeout(5000),
      });
      return [response.status, response.headers.get("retry-after")];
    }
    const wet = await post(page, "api/weather", { kind: "slack", slack: "rate-limited" }, token);
    expect(wet.body).toMatchObject({ slack: "rate-limited" });
    expect(await call("auth.test")).toEqual([429, "5"]);
    await post(page, "api/weather", { kind: "slack", slack: "unavailable" }, token);
    expect(await call("chat.postMessage")).toEqual([503, null]);
    await post(page, "api/weather", { kind: "slack", slack: "clear" }, token);
    expect(await call("auth.test")).toEqual([200, null]);
    const left = slack.faults.take({ method: "users.info", args: {}, at: 0 });
    expect(left).toEqual({ kind: "error", error: "mine" });
  });

  it("calls what the playground gave it, and shows what is on", async () => {
    const done: string[] = [];
    await using world = await startWorkspace({ callbacks: makeCallbacks(done) });
    const { page, token } = world;
    await post(page, "api/weather", { kind: "job-service-down", isOn: true }, token);
    await post(page, "api/weather", { kind: "job-service-slow", isOn: true }, token);
    const killed = await post(page, "api/weather", { kind: "app-running", isOn: false }, token);
    expect(killed.body).toEqual({
      slack: "clear",
      isJobServiceDown: true,
      isJobServiceSlow: true,
      isAppRunning: false,
      agent: "normal",
    });
    const slow = await post(page, "api/weather", { kind: "agent", mood: "slow" }, token);
    expect(slow.body).toMatchObject({ agent: "slow" });
    await post(page, "api/weather", { kind: "app-running", isOn: false }, token);
    await post(page, "api/weather", { kind: "app-running", isOn: true }, token);
    expect(done).toEqual(["down true", "slow true", "kill", "agent slow", "start"]);
  });

  it("says so when a change fails, and works after that", async () => {
    const callbacks = { ...makeCallbacks(), setJobServiceDown: () => Promise.reject(new Error("stuck")) };
    await using world = await startWorkspace({ callbacks });
    const { page, token } = world;
    const failed = await post(page, "api/weather", { kind: "job-service-down", isOn: true }, token);
    expect(failed).toMatchObject({ status: 500, body: { error: expect.not.stringContaining("stuck") } });
    const after = await post(page, "api/weather", { kind: "job-service-slow", isOn: true }, token);
    expect(after.body).toMatchObject({ isJobServiceDown: false, isJobServiceSlow: true });
  });
});

it("does not start where the port is taken", async () => {
  await using world = await startWorkspace();
  await using slack = await createSlackSide({ scopes: [], signingSecret: "s", botToken: "b" });
  await expect(startWorkspace({ slack, port: Number(new URL(world.page.url).port) })).rejects.toThrow(
    "EADDRINUSE",
  );
});
