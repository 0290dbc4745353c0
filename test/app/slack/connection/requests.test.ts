import { createHmac } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { AppProcess, readiness } from "../../../support/app-process.ts";
import { startJobServiceSide } from "../../../../world/job-service/side.ts";
import { atNight } from "../../../support/nightly.ts";
import { ask } from "../../../support/threads.ts";
import { ANA, DOCS, SIGNING_SECRET, World, environment, startSlackSide } from "../../../support/world.ts";

const JSON_TYPE = "application/json";
const FORM_TYPE = "application/x-www-form-urlencoded";

function signed(body: string, type: string, aheadS = 0): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000) + aheadS);
  const signature = createHmac("sha256", SIGNING_SECRET).update(`v0:${timestamp}:${body}`).digest("hex");
  return {
    "content-type": type,
    "x-slack-request-timestamp": timestamp,
    "x-slack-signature": `v0=${signature}`,
  };
}

async function post(url: string, body: string, headers: Record<string, string>): Promise<number> {
  return (await fetch(`${url}/slack/events`, { method: "POST", headers, body })).status;
}

async function startProcess() {
  const resources = new AsyncDisposableStack();
  const slack = resources.use(await startSlackSide());
  const service = resources.use(await startJobServiceSide());
  const app = resources.use(
    new AppProcess({ env: { ...environment(slack, service), STORE_URL: "memory://" } }),
  );
  const url = (await app.ready()) ?? "";
  slack.setAppUrl(`${url}/slack/events`);
  return { resources, app, url, slack };
}

it("a request whose time is more than five minutes away gets 401, and one that is nearer 200", async () => {
  await using world = await World.start();
  const body = '{"type":"url_verification","challenge":"c"}';
  const statuses = [-360, -240, 240, 360].map((aheadS) =>
    post(world.appUrl, body, signed(body, JSON_TYPE, aheadS)),
  );
  expect(await Promise.all(statuses)).toEqual([401, 200, 200, 401]);
});

it("a mention that lacks its words gets 200 and the help, and starts nothing", async () => {
  await using world = await World.start();
  const event = { type: "app_mention", user: ANA, channel: DOCS, ts: "1767622800.000100" };
  const body = JSON.stringify({ type: "event_callback", team_id: world.slack.workspace.team.id, event });
  expect(await post(world.appUrl, body, signed(body, JSON_TYPE))).toBe(200);
  await world.pass(60_000);
  expect(world.service.creates).toEqual([]);
  expect(world.slack.ephemerals(ANA)).toMatchObject([{ text: "How to ask for a docs change" }]);
});

it.each([
  { type: "app_mention", user: null, channel: DOCS },
  { type: "message", user: ANA, channel: null },
  { type: "app_home_opened", user: null, channel: null, tab: "messages" },
  { type: "app_home_opened", user: ANA, tab: "messages" },
  { type: "reaction_added", user: ANA, item: null },
  { type: "channel_created", channel: 7 },
])("an event that lacks what every event of its sort has gets 200 and is ignored: %j", async (said) => {
  await using world = await World.start();
  const event = { text: "fix it", ts: "1767622800.000100", ...said };
  const body = JSON.stringify({ type: "event_callback", team_id: world.slack.workspace.team.id, event });
  expect(await post(world.appUrl, body, signed(body, JSON_TYPE))).toBe(200);
  await world.pass(60_000);
  expect(world.service.calls).toEqual([]);
  expect(world.logger.text("error")).toBe("");
});

it("a press that lacks where its button stands is answered all the same", async () => {
  await using world = await World.start();
  const root = await ask(world);
  // One that Slack could not deliver, so that its bytes are there to be changed.
  world.slack.setAppUrl("http://127.0.0.1:9/");
  const click = { channel: DOCS, messageTs: root.ts, actionId: "stop_turn" };
  const { delivery } = await world.slack.person(ANA).click(click);
  world.slack.setAppUrl(`${world.appUrl}/slack/events`);
  const pressed: unknown = JSON.parse(new URLSearchParams(delivery.body).get("payload") ?? "");
  const actions = [{ type: "button", action_id: "stop_turn", block_id: "b", action_ts: "1.0", value: "no" }];
  const payload = { ...z.record(z.string(), z.unknown()).parse(pressed), actions, container: undefined };
  const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
  expect(await world.slack.redeliver({ ...delivery, body }, { resign: true })).toMatchObject({ status: 200 });
  await world.slack.until(() => world.slack.ephemerals(ANA)[0]);
  expect(world.slack.ephemerals(ANA)[0]?.text).toContain("I keep requests for");
  expect(world.logger.text("error")).toBe("");
});

describe("a signed body that isn't like Slack's", () => {
  it.each([
    ["null", JSON_TYPE],
    ["7", JSON_TYPE],
    ['"text"', JSON_TYPE],
    ["[]", JSON_TYPE],
    ["true", JSON_TYPE],
    ["", JSON_TYPE],
    ["{", JSON_TYPE],
    ['{"type":"event_callback"}', JSON_TYPE],
    ['{"type":"event_callback","event":null}', JSON_TYPE],
    ['{"type":"event_callback","event":{"type":7}}', JSON_TYPE],
    ["payload=null", FORM_TYPE],
    ["payload=7", FORM_TYPE],
    ["payload=%5B%5D", FORM_TYPE],
    ["payload=%7B", FORM_TYPE],
  ])("(%s as %s) gets 400, and unsigned 401; the app goes on", async (body, type) => {
    await using world = await World.start();
    expect(await post(world.appUrl, body, signed(body, type))).toBe(400);
    expect(await post(world.appUrl, body, { "content-type": type })).toBe(401);
    const command = await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    expect(command).toMatchObject({ status: 200 });
    expect(world.logger.text("error")).toBe("");
  });
});

it.each([`${FORM_TYPE}; charset=utf-8`, "Application/X-WWW-Form-URLencoded"])(
  "a command whose type a proxy has written as %s is taken",
  async (type) => {
    await using world = await World.start();
    const { delivery } = await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    const body = delivery?.body.replace("fix+it", "fix+that") ?? "";
    expect(await post(world.appUrl, body, signed(body, type))).toBe(200);
  },
);

it("Slack's check of the address needs no signature; what comes along with it is ignored", async () => {
  await using world = await World.start();
  const body = "ssl_check=1&command=%2Fdocs-agent&text=fix+it&trigger_id=1.2.3";
  expect(await post(world.appUrl, body, { "content-type": FORM_TYPE })).toBe(200);
  await world.settle();
  expect(world.service.calls).toEqual([]);
});

it("a body over 512 KB gets 413, whether it says so or not, and one below is read", async () => {
  await using world = await World.start();
  const large = JSON.stringify({ type: "x", text: "a".repeat(600 * 1024) });
  expect(await post(world.appUrl, large, signed(large, JSON_TYPE))).toBe(413);
  const chunked = await fetch(`${world.appUrl}/slack/events`, {
    method: "POST",
    headers: signed(large, JSON_TYPE),
    body: new Blob([large]).stream(),
    duplex: "half",
  });
  expect(chunked.status).toBe(413);
  const small = JSON.stringify({
    type: "url_verification",
    challenge: "c",
    text: "a".repeat(500 * 1024),
  });
  expect(await post(world.appUrl, small, signed(small, JSON_TYPE))).toBe(200);
});

const HELD_BACK = [
  ["500 KB, which is allowed", 500 * 1024],
  ["4 MB, as announced", 4 * 1024 * 1024],
] as const;

it.skipIf(process.platform !== "linux").each(atNight(HELD_BACK, HELD_BACK.slice(0, 1)))(
  "300 connections that hold back the end of a body of %s take little memory",
  { tags: "all", timeout: 30_000 },
  async (_, bytes) => {
    const { resources, app, url, slack } = await startProcess();
    await using _resources = resources;
    const before = rssMb(app.pid);
    const sockets = await Promise.all(
      Array.from({ length: 300 }, (_, n) => holdBack(url, bytes, n % 2 === 0 ? guessed() : undefined)),
    );
    expect(rssMb(app.pid) - before).toBeLessThan(150);
    // Meanwhile everybody else is served.
    expect(await readiness(url)).toMatchObject({ status: "ok" });
    const command = await slack.person(ANA).command({ channel: DOCS, text: "fix it" });
    expect(command).toMatchObject({ status: 200 });
    for (const socket of sockets) socket.destroy();
  },
);

describe("while as many large bodies as may be are held back, all with a signature of the right form", () => {
  const bytes = 100 * 1024;
  const large = JSON.stringify({ type: "url_verification", challenge: "c", text: "a".repeat(bytes) });

  async function start() {
    const world = await World.start();
    const sockets: Socket[] = [];
    const answers: string[] = [];
    for (let n = 0; n < 32; n += 1) {
      const socket = await holdBack(world.appUrl, bytes, guessed());
      socket.setEncoding("utf8").on("data", (text: string) => (answers[n] = (answers[n] ?? "") + text));
      sockets.push(socket);
    }
    // What was sent has arrived once a later request was answered.
    await readiness(world.appUrl);
    const close = async () => {
      for (const socket of sockets) socket.destroy();
      await world[Symbol.asyncDispose]();
    };
    return { world, sockets, answers, [Symbol.asyncDispose]: close };
  }

  it("one more is read, and the oldest gives way", async () => {
    await using held = await start();
    for (let n = 0; n < 3; n += 1) {
      expect(await post(held.world.appUrl, large, signed(large, JSON_TYPE))).toBe(200);
      // The place is free again, and nobody else gives way.
      expect(Object.keys(held.answers)).toEqual(["0"]);
      expect(held.answers[0]).toContain("503 Service Unavailable");
    }
  });

  it("one more is read, and the one that has sent least in the last five seconds gives way", async () => {
    await using held = await start();
    held.world.clock.advance(6_000);
    for (const [n, socket] of held.sockets.entries()) if (n !== 20) socket.write("a");
    await readiness(held.world.appUrl);
    expect(await post(held.world.appUrl, large, signed(large, JSON_TYPE))).toBe(200);
    await expect.poll(() => Object.keys(held.answers)).toEqual(["20"]);
  });
});

it.each([
  ["no signature", {}],
  ["one of another form", { "x-slack-signature": "v0=1" }],
  ["an old time", { "x-slack-request-timestamp": "1700000000" }],
])("a body of more than a kilobyte with %s gets 401 before its end", async (_, others) => {
  await using world = await World.start();
  const { "x-slack-signature": signature = "", ...unsigned } = guessed();
  const isTimeOld = "x-slack-request-timestamp" in others;
  const headers = { ...unsigned, ...(isTimeOld && { "x-slack-signature": signature }), ...others };
  const socket = await holdBack(world.appUrl, 2_000, headers);
  const [answer] = await once(socket.setEncoding("utf8"), "data");
  expect(answer).toContain("401 Unauthorized");
  socket.destroy();
});

/** The headers of a request with a signature that has the right form, at this time. */
function guessed(): Record<string, string> {
  return { ...signed("", JSON_TYPE), "x-slack-signature": `v0=${"0".repeat(64)}` };
}

it.concurrent(
  "a request whose end does not come gets 408, and its connection is closed",
  { tags: "all", timeout: 30_000 },
  async ({ expect }) => {
    const { resources, url } = await startProcess();
    await using _ = resources;
    const socket = await holdBack(url, 1000);
    let answer = "";
    socket.setEncoding("utf8").on("data", (text: string) => (answer += text));
    await once(socket, "close");
    expect(answer).toContain("408 Request Timeout");
  },
);

/** Sends all of a body but its end. Resolves when the app has taken what it takes, or has answered. */
async function holdBack(
  url: string,
  bytes: number,
  headers: Record<string, string> = { "content-type": JSON_TYPE },
): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  // Closed by the other side at some time, as it may be.
  socket.on("error", () => {});
  const lines = Object.entries({ host: "app", ...headers, "content-length": bytes });
  socket.write(
    `POST /slack/events HTTP/1.1\r\n${lines.map((line) => `${line.join(": ")}\r\n`).join("")}\r\n`,
  );
  await new Promise<void>((resolve) => {
    socket.once("close", () => resolve());
    socket.write(Buffer.alloc(bytes - 10, "a"), () => resolve());
  });
  return socket;
}

function rssMb(pid: number): number {
  const kb = /^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kb) / 1024;
}
