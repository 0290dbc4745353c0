// @module-tag all

import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import type { ProxySettings } from "../../../src/shared/machine/proxy.ts";
import { ConnectProxy, type ProxyMood } from "../../../world/faults/connect-proxy.ts";
import { faultOf, openClient, OPERATIONS } from "../../support/job-service-client.ts";
import { startTcpServer } from "../../../world/job-service/raw.ts";
import { startJobServiceSide } from "../../../world/job-service/side.ts";

const QUICK_MS = 150;
/** A name that only the proxy can find. */
const HIDDEN = "http://job-service.internal";

function through(proxy: { url: string }, none = ""): ProxySettings {
  return { http: proxy.url, https: proxy.url, none };
}

describe("behind a proxy", () => {
  it("calls reach a service whose name only the proxy knows", async () => {
    await using side = await startJobServiceSide();
    await using proxy = await ConnectProxy.start({ leadsTo: Number(new URL(side.baseUrl).port) });
    await using client = openClient({ baseUrl: HIDDEN, proxy: through(proxy) });
    for (const [, call] of OPERATIONS) expect(await call(client)).toMatchObject({ ok: true });
    expect(new Set(proxy.asked)).toEqual(new Set(["job-service.internal:80"]));
    expect(proxy.others).toEqual([]);
  });

  it("an https service gets its TLS through the tunnel", async () => {
    const firstBytes: number[] = [];
    await using service = await startTcpServer((socket: Socket) =>
      socket.once("data", (bytes) => {
        firstBytes.push(bytes[0] ?? 0);
        socket.destroy();
      }),
    );
    await using proxy = await ConnectProxy.start({ leadsTo: service.port });
    const settings = { http: "", https: proxy.url, none: "" };
    await using client = openClient({ baseUrl: "https://job-service.internal", proxy: settings });
    expect(faultOf(await client.createJob("Fix it", "turn-1")).kind).toBe("not-created");
    expect(proxy.asked).toEqual(["job-service.internal:443"]);
    // A TLS handshake record (RFC 8446, section 5.1), not the request in plain text.
    expect(firstBytes).toEqual([0x16]);
  });

  it("hosts in NO_PROXY are reached directly", async () => {
    await using side = await startJobServiceSide();
    await using proxy = await ConnectProxy.start();
    const { host } = new URL(side.baseUrl);
    for (const none of ["127.0.0.1", host, `git.internal, ${host}`, "*"]) {
      await using client = openClient({ baseUrl: side.baseUrl, proxy: through(proxy, none) });
      expect(await client.createJob("Fix it", "turn-1")).toMatchObject({ ok: true });
    }
    expect(proxy.asked).toEqual([]);
    for (const none of ["127.0.0.1:1", "10.0.0.1", ".example.com"]) {
      await using client = openClient({ baseUrl: side.baseUrl, proxy: through(proxy, none) });
      expect(await client.createJob("Fix it", "turn-1")).toMatchObject({ ok: true });
    }
    expect(proxy.asked).toEqual([host, host, host]);
  });

  it("only the settings count, not the environment of the process", async () => {
    await using side = await startJobServiceSide();
    await using proxy = await ConnectProxy.start();
    const before = { ...process.env };
    try {
      process.env["HTTP_PROXY"] = proxy.url;
      process.env["NO_PROXY"] = "*";
      await using direct = openClient({ baseUrl: side.baseUrl });
      await using client = openClient({ baseUrl: side.baseUrl, proxy: through(proxy) });
      const settings = { http: "", https: proxy.url, none: "" };
      await using tlsOnly = openClient({ baseUrl: side.baseUrl, proxy: settings });
      await direct.createJob("Fix it", "turn-1");
      await tlsOnly.createJob("Fix it", "turn-2");
      expect(proxy.asked).toEqual([]);
      await client.createJob("Fix it", "turn-3");
      expect(proxy.asked).toHaveLength(1);
    } finally {
      process.env = before;
    }
    expect(side.creates).toHaveLength(3);
  });

  it("polls share tunnels; each create and each message has its own", async () => {
    await using side = await startJobServiceSide();
    await using proxy = await ConnectProxy.start();
    await using client = openClient({ baseUrl: side.baseUrl, proxy: through(proxy) });
    await client.createJob("Fix it", "turn-1");
    await client.createJob("Fix that", "turn-2");
    await client.sendMessage("job_1", "Go on", "turn-3");
    expect(side.connections).toBe(3);
    for (let poll = 0; poll < 20; poll += 1) expect(await client.getJob("job_1")).toMatchObject({ ok: true });
    // A poll that begins while the last one is still being put away opens a second tunnel.
    expect(side.connections).toBeLessThanOrEqual(5);
    expect(proxy.asked).toHaveLength(side.connections);
  });

  it("a lost answer is unknown, as without a proxy", async () => {
    await using side = await startJobServiceSide();
    await using proxy = await ConnectProxy.start();
    await using client = openClient({ baseUrl: side.baseUrl, proxy: through(proxy) });
    side.faults.add({ op: "create", fault: { kind: "drop-after" } });
    expect(faultOf(await client.createJob("Fix it", "turn-1")).kind).toBe("unknown");
    expect(side.creates).toHaveLength(1);
    expect(proxy.asked).toHaveLength(1);
  });
});

describe("a proxy that does not open the tunnel", () => {
  it.each<[string, ProxyMood, string]>([
    ["refuses it", { status: 403 }, "the proxy answered 403"],
    ["cannot reach the service", { status: 502 }, "the proxy answered 502"],
    ["is overloaded", { status: 503 }, "the proxy answered 503"],
    ["asks for a login", { status: 407 }, "the proxy answered 407: put a user name and password"],
    ["hangs up", "hang-up", "the proxy did not open a connection"],
    ["says nothing", "hang", `${QUICK_MS} ms`],
  ])("because it %s: nothing was created, and it is not asked twice", async (_name, mood, said) => {
    await using side = await startJobServiceSide();
    await using proxy = await ConnectProxy.start();
    proxy.mood = mood;
    const timeoutMs = mood === "hang" ? QUICK_MS : 5_000;
    await using client = openClient({ baseUrl: side.baseUrl, proxy: through(proxy), timeoutMs });
    const fault = faultOf(await client.createJob("Fix it", "turn-1"));
    expect(fault.kind).toBe("not-created");
    expect(fault.message).toContain(said);
    expect(fault).not.toHaveProperty("status");
    expect(proxy.asked).toHaveLength(1);
    expect(side.connections).toBe(0);
    proxy.mood = "open";
    expect(await client.createJob("Fix it", "turn-1")).toMatchObject({ ok: true });
    expect(side.creates).toHaveLength(1);
    expect(proxy.asked).toHaveLength(2);
  });

  it("because it is not there: nothing was created", async () => {
    await using side = await startJobServiceSide();
    const gone = await ConnectProxy.start();
    const { url } = gone;
    await gone[Symbol.asyncDispose]();
    await using client = openClient({ baseUrl: side.baseUrl, proxy: through({ url }) });
    const fault = faultOf(await client.createJob("Fix it", "turn-1"));
    expect(fault.kind).toBe("not-created");
    expect(fault.message).toContain("the proxy did not open a connection (ECONNREFUSED)");
    expect(side.calls).toEqual([]);
  });

  it("does not keep the client from closing", async () => {
    await using proxy = await ConnectProxy.start();
    proxy.mood = "hang";
    const client = openClient({ baseUrl: HIDDEN, proxy: through(proxy), timeoutMs: 1_000 });
    const create = client.createJob("Fix it", "turn-1");
    await expect.poll(() => proxy.asked.length).toBe(1);
    const closed = client.close();
    expect(faultOf(await create).kind).toBe("not-created");
    await closed;
    expect(proxy.asked).toHaveLength(1);
  });
});

describe("a proxy that wants a login", () => {
  it("gets it from its address, and it is in no message", async () => {
    await using side = await startJobServiceSide();
    await using proxy = await ConnectProxy.start({ login: "ana:p@ss-word" });
    const url = proxy.url.replace("//", "//ana:p%40ss-word@");
    await using client = openClient({ baseUrl: side.baseUrl, proxy: through({ url }) });
    expect(await client.createJob("Fix it", "turn-1")).toMatchObject({ ok: true });
    const wrong = proxy.url.replace("//", "//ana:wr0ng-word@");
    await using refused = openClient({ baseUrl: side.baseUrl, proxy: through({ url: wrong }) });
    const fault = faultOf(await refused.createJob("Fix it", "turn-2"));
    expect(fault).toMatchObject({ kind: "not-created" });
    expect(fault.message).not.toContain("wr0ng");
    expect(side.creates).toHaveLength(1);
  });
});

it("a proxy that takes a connection and never reads leaves nothing created", async () => {
  await using silent = await startTcpServer((socket) => void socket.pause());
  const url = `http://127.0.0.1:${silent.port}`;
  await using client = openClient({ baseUrl: HIDDEN, proxy: through({ url }), timeoutMs: QUICK_MS });
  expect(faultOf(await client.createJob("Fix it", "turn-1")).kind).toBe("not-created");
});
