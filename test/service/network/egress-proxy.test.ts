import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { ConnectProxy } from "../../../world/faults/connect-proxy.ts";
import { startRawSide } from "../../../world/job-service/raw-side.ts";
import { openNetworkWorld, readAll, startHttpSide } from "../../support/turn-network.ts";

/** What DNS says in these tests. Every look-up is counted. */
function dns(names: Record<string, string[]>) {
  const asked: string[] = [];
  return {
    asked,
    resolve: async (host: string) => {
      asked.push(host);
      return names[host] ?? [];
    },
  };
}

/** Echoes what it gets; keeps the sockets it had. */
async function startEcho() {
  const sockets: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.pipe(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as { port: number }).port,
    sockets,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** Lets nobody in: it stands still, and its queue of connections is full. */
async function startSilent() {
  const source = `require("node:net").createServer().listen({ host: "127.0.0.1", port: 0, backlog: 1 }, function () {
    console.log(this.address().port);
  })`;
  const child = spawn(process.execPath, ["-e", source], { stdio: ["ignore", "pipe", "ignore"] });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const port = Number(line.toString());
  child.kill("SIGSTOP");
  const queued = [1, 2, 3, 4].map(() => connect(port, "127.0.0.1").on("error", () => undefined));
  await Promise.all(queued.slice(0, 2).map((socket) => once(socket, "connect")));
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      for (const socket of queued) socket.destroy();
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

it("tunnels to a host on the list, and counts and logs its bytes", async () => {
  await using echo = await startEcho();
  await using world = await openNetworkWorld({ allow: [`127.0.0.1:${echo.port}`] });
  const { status, socket } = await world.tunnel(`127.0.0.1:${echo.port}`);
  expect(status).toBe(200);
  socket.end("hello");
  expect((await readAll(socket)).toString()).toBe("hello");
  await expect.poll(() => world.logger.text("info")).toContain("agent's connection closed");
  expect(world.network.traffic.total).toEqual({ bytesIn: 5, bytesOut: 5 });
  expect(world.logger.lines[0]?.fields).toEqual({
    host: "127.0.0.1",
    bytesIn: 5,
    bytesOut: 5,
    port: echo.port,
    kind: "tunnel",
  });
});

it("hands on what came together with the CONNECT", async () => {
  await using echo = await startEcho();
  await using world = await openNetworkWorld({ allow: [`127.0.0.1:${echo.port}`] });
  const socket = await world.dial();
  socket.end(`CONNECT 127.0.0.1:${echo.port} HTTP/1.1\r\nhost: x\r\n\r\nearly`);
  expect((await readAll(socket)).toString()).toMatch(/^HTTP\/1\.1 200 .*\r\n\r\nearly$/s);
});

it("lets nothing through by default, names the setting, and looks nothing up", async () => {
  const names = dns({ "example.org": ["93.184.215.14"] });
  await using world = await openNetworkWorld({ resolve: names.resolve });
  const { status, text } = await world.tunnel("example.org:443");
  expect(status).toBe(403);
  expect(text).toBe(
    "example.org:443 isn't on this project's list of hosts. An operator can add it to network.allow in the job service's settings.\n",
  );
  expect((await world.ask({ method: "GET", path: "http://example.org/" })).status).toBe(403);
  expect(names.asked).toEqual([]);
  expect(world.logger.text("warn")).toContain('{"target":"example.org:443"}');
});

it.each([
  "localhost",
  "LOCALHOST",
  "127.1",
  "127.0.0.1",
  "2130706433",
  "0x7f.0.0.1",
  "0",
  "[::1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "internal.test",
  "mapped.test",
  "nat64.test",
  "metadata.test",
  "unique-local.test",
  "link-local.test",
  "169.254.169.254",
  "[fe80::1]",
  "[fd00:ec2::254]",
])("does not reach this machine or its network by %s", async (host) => {
  const names = dns({
    "internal.test": ["10.1.2.3"],
    "mapped.test": ["::ffff:127.0.0.1"],
    "nat64.test": ["64:ff9b::7f00:1"],
    "metadata.test": ["169.254.169.254"],
    "unique-local.test": ["fd12::1"],
    "link-local.test": ["fe80::1%eth0"],
    localhost: ["127.0.0.1", "::1"],
  });
  await using echo = await startEcho();
  // All names are on the list, with all ports that could matter, but no address is.
  const allow = [
    "localhost",
    ...Object.keys(names),
    "*.test",
    `*.test:${echo.port}`,
    "mapped.test:1",
    "metadata.test:80",
  ];
  for (const port of [echo.port, 80, 443]) {
    await using world = await openNetworkWorld({ allow, resolve: names.resolve });
    const answer = await world.tunnel(`${host}:${port}`);
    expect(answer.status).toBe(403);
    expect((await world.ask({ method: "GET", path: `http://${host}:${port}/` })).status).toBe(403);
    expect(world.network.traffic.total).toEqual({ bytesIn: 0, bytesOut: 0 });
  }
  expect(echo.sockets).toEqual([]);
});

it("connects to the address that was checked, though DNS has another one right after", async () => {
  await using side = await startHttpSide((_seen, _request, response) => response.end("checked"));
  const answers = [["127.0.0.1"], ["169.254.169.254"]];
  let asked = 0;
  const authority = `rebinding.localhost:${side.port}`;
  const resolve = async () => answers[asked++ % 2] ?? [];
  await using world = await openNetworkWorld({ allow: [authority], resolve });
  const { status, socket } = await world.tunnel(authority);
  expect(status).toBe(200);
  socket.end("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  expect((await readAll(socket)).toString()).toContain("checked");
  expect(asked).toBe(1);
  // The next connection is checked anew.
  expect((await world.tunnel(authority)).status).toBe(403);
  expect(await world.ask({ method: "GET", path: `http://${authority}/` })).toMatchObject({ text: "checked" });
  expect((await world.ask({ method: "GET", path: `http://${authority}/` })).status).toBe(403);
  expect([asked, side.seen.length]).toEqual([4, 2]);
});

it("lets a client go on that first asks whether it may", async () => {
  await using side = await startHttpSide(({ body }, _request, response) => response.end(body));
  const authority = `127.0.0.1:${side.port}`;
  await using world = await openNetworkWorld({ allow: [authority] });
  const headers = { expect: "100-continue" };
  const answer = await world.ask({ path: `http://${authority}/`, headers, body: "hello" });
  expect(answer.status).toBe(100);
  expect(answer.text).toMatch(/^HTTP\/1\.1 200 [^]*hello/);
});

it("doesn't take another name for this machine, also if it is named with its port", async () => {
  await using side = await startHttpSide((_seen, _request, response) => response.end("inside"));
  const authority = `rebinding.test:${side.port}`;
  await using world = await openNetworkWorld({ allow: [authority], resolve: async () => ["127.0.0.1"] });
  expect((await world.tunnel(authority)).status).toBe(403);
  expect((await world.ask({ method: "GET", path: `http://${authority}/` })).status).toBe(403);
  expect(side.seen).toEqual([]);
});

it("leaves out the forbidden ones of a name's addresses", async () => {
  await using echo = await startEcho();
  await using world = await openNetworkWorld({
    allow: [`localhost:${echo.port}`],
    resolve: async () => ["169.254.169.254", "127.0.0.1", "224.0.0.1"],
  });
  const { status, socket } = await world.tunnel(`localhost:${echo.port}`);
  expect(status).toBe(200);
  expect(socket.destroy()).toBeDefined();
});

it("forwards plain http, for the site that the URL names, without what is for the proxy", async () => {
  await using side = await startHttpSide((_seen, _request, response) =>
    response
      .writeHead(201, { "x-answer": "yes", "proxy-authenticate": "Basic", connection: "x-answer-hop" })
      .end("body"),
  );
  await using world = await openNetworkWorld({ allow: [`localhost:${side.port}`] });
  const answer = await world.ask({
    path: `http://localhost:${side.port}/a/../b?c=%20`,
    headers: {
      host: "other.example",
      "proxy-authorization": "Basic eDp5",
      connection: "close, x-hop",
      "x-hop": "1",
      "x-kept": "2",
    },
    body: "sent",
  });
  expect(answer).toMatchObject({ status: 201, text: "body" });
  expect(answer.headers).toMatchObject({ "x-answer": "yes" });
  expect(answer.headers).not.toHaveProperty("proxy-authenticate");
  const [seen] = side.seen;
  expect(seen).toMatchObject({ method: "POST", url: "/b?c=%20", body: "sent" });
  expect(seen?.headers).toMatchObject({ host: `localhost:${side.port}`, "x-kept": "2" });
  expect(seen?.headers).not.toHaveProperty("proxy-authorization");
  expect(seen?.headers).not.toHaveProperty("x-hop");
  expect(JSON.stringify(world.logger.lines)).not.toContain("/b");
});

it.each([
  ["a status below 100", "HTTP/1.1 042 X\r\ncontent-length: 2\r\n\r\nok", 502],
  ["status 000", "HTTP/1.1 000 X\r\ncontent-length: 2\r\n\r\nok", 502],
  ["another protocol", "HTTP/1.1 101 S\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\nhey", 502],
  ["no other protocol after all", "HTTP/1.1 101 S\r\n\r\n", 502],
  ["no HTTP", "GARBAGE\r\n\r\n", 502],
  ["control characters", "HTTP/1.1 200 OK\r\nx-a: \x01\x7f\r\ncontent-length: 2\r\n\r\nok", 502],
  ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 2\r\n\r\nokxxx", 502],
  ["an unknown status", "HTTP/1.1 999 X\r\ncontent-length: 2\r\n\r\nok", 999],
  ["odd bytes", "HTTP/1.1 200 OK\r\nx-a: \x80\xff\tb\r\ncontent-length: 2\r\n\r\nok", 200],
  [
    "interim answers",
    "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 103 E\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
    200,
  ],
  ["a body where none may be", "HTTP/1.1 204 N\r\ncontent-length: 2\r\n\r\nok", 204],
  [
    "a trailer",
    "HTTP/1.1 200 OK\r\ntrailer: x-t\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx-t: \x80\r\n\r\n",
    200,
  ],
])("survives an answer with %s", async (_title, bytes, status) => {
  await using side = await startRawSide(bytes);
  await using world = await openNetworkWorld({ allow: [`127.0.0.1:${side.port}`] });
  const path = `http://127.0.0.1:${side.port}/`;
  const answer = await world.ask({ method: "GET", path });
  expect(answer.status).toBe(status);
  if (status === 200) expect(answer.text).toBe("ok");
  if (status === 502) expect(answer.text).toContain(`127.0.0.1:${side.port} can't be reached (`);
  // And goes on.
  expect((await world.ask({ method: "GET", path })).status).toBe(status);
});

it.each([
  [
    "in chunks",
    "transfer-encoding: chunked",
    (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  ],
  [
    "whose length is named for this connection",
    "connection: content-length\r\ncontent-length: 50",
    (body: string) => body,
  ],
  ["with a length", "content-length: 50", (body: string) => body],
])("lets no host read the body of a GET as another request, %s", async (_title, header, framed) => {
  await using side = await startHttpSide((_seen, _request, response) => response.end("ok"));
  await using world = await openNetworkWorld({ allow: [`127.0.0.1:${side.port}`] });
  const body = "GET /second HTTP/1.1\r\nhost: other.example\r\n\r\n".padEnd(50);
  const socket = await world.dial();
  socket.write(
    `GET http://127.0.0.1:${side.port}/first HTTP/1.1\r\nhost: x\r\n${header}\r\n\r\n${framed(body)}`,
  );
  await once(socket, "data");
  socket.end();
  expect(side.seen.map(({ url, body: got }) => [url, got])).toEqual([["/first", body]]);
});

it.each(["https://localhost/", "ftp://localhost/", "http://user:pass@localhost/", "*", "localhost"])(
  "refuses a request for %s",
  async (path) => {
    await using world = await openNetworkWorld({ allow: ["localhost"] });
    expect((await world.ask({ method: "OPTIONS", path })).status).toBe(400);
  },
);

it.each([
  "",
  "localhost",
  "localhost:",
  "localhost:0",
  "localhost:99999",
  "http://localhost:443",
  "a b:443",
  "%6c:443",
])("refuses a CONNECT to %j", async (authority) => {
  await using world = await openNetworkWorld({ allow: ["localhost"] });
  expect((await world.tunnel(authority)).status).toBe(400);
});

it("ends the turn's traffic when it is too much, and says so", async () => {
  await using echo = await startEcho();
  const authority = `127.0.0.1:${echo.port}`;
  await using world = await openNetworkWorld({ allow: [authority], maxBytes: 100_000 });
  const { socket } = await world.tunnel(authority);
  const ended = readAll(socket);
  socket.write(Buffer.alloc(200_000));
  expect(await world.network.exceeded).toBe("The turn's limit of 100,000 bytes over the network is used up.");
  await ended;
  expect(await world.tunnel(authority)).toMatchObject({
    status: 429,
    text: "The turn's limit of 100,000 bytes over the network is used up.\n",
  });
});

it("closes connections that are idle, and those that are too many", async () => {
  await using echo = await startEcho();
  const authority = `127.0.0.1:${echo.port}`;
  await using world = await openNetworkWorld({ allow: [authority], limits: { idleMs: 50, connections: 2 } });
  const { socket } = await world.tunnel(authority);
  await readAll(socket);
  const held = [await world.dial(), await world.dial()];
  await readAll(await world.dial());
  expect(world.logger.text("warn")).toContain("too many connections");
  for (const one of held) one.destroy();
});

it("gives up on a host that lets nobody in", async () => {
  await using silent = await startSilent();
  const authority = `127.0.0.1:${silent.port}`;
  await using world = await openNetworkWorld({ allow: [authority], limits: { connectMs: 200 } });
  const answers = [
    await world.ask({ path: `http://${authority}/`, body: "sent" }),
    await world.tunnel(authority),
  ];
  for (const answer of answers) {
    expect(answer).toMatchObject({ status: 502, text: `${authority} can't be reached (no answer).\n` });
  }
});

it("holds back a side that sends faster than the other one reads", async () => {
  await using echo = await startEcho();
  const authority = `127.0.0.1:${echo.port}`;
  await using world = await openNetworkWorld({ allow: [authority] });
  const { socket } = await world.tunnel(authority);
  socket.pause();
  const size = 32 * 1024 ** 2;
  socket.write(Buffer.alloc(size));
  // It settles at what the buffers on the way take, far from all.
  let before = -1;
  let now = 0;
  while (now === 0 || now !== before) {
    before = now;
    await sleep(200);
    now = world.network.traffic.total.bytesIn;
  }
  expect(now).toBeLessThan(size / 2);
  expect(now).toBeGreaterThan(0);
  socket.resume().end();
  expect((await readAll(socket)).length).toBe(size);
});

it("does not fill the log", async () => {
  await using world = await openNetworkWorld({ limits: { logLines: 5 } });
  for (let at = 0; at < 20; at += 1) await world.tunnel(`host-${at}.test:443`);
  expect(world.logger.lines.map(({ message }) => message)).toEqual([
    ...Array.from({ length: 5 }, () => "agent was refused a host"),
    "too many lines about this turn's network: no more follow",
  ]);
});

it("bounds headers", async () => {
  await using world = await openNetworkWorld({ allow: ["localhost"] });
  const { status } = await world.tunnel("localhost:443", { "x-long": "x".repeat(20_000) });
  expect(status).toBe(431);
});

it("has a socket that only we may use, and leaves nothing behind", async () => {
  const world = await openNetworkWorld();
  const path = world.network.socketPath ?? "";
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  const open = await world.dial();
  const closed = readAll(open);
  await world.network[Symbol.asyncDispose]();
  await closed;
  await expect(stat(path)).rejects.toThrow("ENOENT");
  await world[Symbol.asyncDispose]();
});

it("asks for its password where anybody on the machine can connect", async () => {
  await using echo = await startEcho();
  const authority = `127.0.0.1:${echo.port}`;
  await using world = await openNetworkWorld({ allow: [authority], onPort: true });
  expect(world.network.socketPath).toBeNull();
  const refused = await world.tunnel(authority);
  expect(refused.status).toBe(407);
  expect(refused.headers["proxy-authenticate"]).toBe('Basic realm="turn"');
  const { username, password } = new URL(world.network.env(world.network.port ?? 0)["HTTPS_PROXY"] ?? "");
  const given = Buffer.from(`${username}:${password}`).toString("base64");
  const { status, socket } = await world.tunnel(authority, { "proxy-authorization": `Basic ${given}` });
  expect(status).toBe(200);
  socket.destroy();
});

it("says when a socket's path is too long, or can't be had", async () => {
  const { openTurnNetwork } = await import("../../../src/service/network/egress/turn-network.ts");
  const options = { allow: [], maxBytes: 1, models: [], budget: { tokens: null, usd: null } };
  await using world = await openNetworkWorld();
  await expect(
    openTurnNetwork({ ...options, socketPath: `/tmp/${"x".repeat(110)}`, logger: world.logger }),
  ).rejects.toThrow("longer than 107 bytes");
  await expect(openTurnNetwork({ ...options, socketPath: "/tmp", logger: world.logger })).rejects.toThrow(
    "The agent's network can't be opened (ERR_FS_EISDIR).",
  );
});

const LOGIN = "ana:secret-of-the-proxy";

/** A turn's network whose operator reaches the internet by a proxy only. All names lead to `port` there. */
async function openBehindProxy(
  port: number,
  allow: string[],
  names: Record<string, string[]> = {},
  none = "",
) {
  const proxy = await ConnectProxy.start({ login: LOGIN, leadsTo: port });
  const https = proxy.url.replace("//", `//${LOGIN}@`);
  const { resolve } = dns(names);
  const world = await openNetworkWorld({ allow, resolve, proxy: { http: https, https, none } });
  return {
    proxy,
    world,
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      await proxy[Symbol.asyncDispose]();
    },
  };
}

it("reaches hosts through the operator's proxy, tunnels and plain http, without telling the agent its password", async () => {
  await using side = await startHttpSide((_seen, _request, response) => response.end("here"));
  await using behind = await openBehindProxy(side.port, ["example.org", "*.example.com"], {
    "www.example.com": ["93.184.215.14"],
  });
  const { world, proxy } = behind;
  const { status, socket } = await world.tunnel("example.org:443");
  expect(status).toBe(200);
  socket.end("GET /in-the-tunnel HTTP/1.1\r\nhost: example.org\r\nconnection: close\r\n\r\n");
  expect((await readAll(socket)).toString()).toContain("here");
  expect(await world.ask({ method: "GET", path: "http://www.example.com/a?b" })).toMatchObject({
    status: 200,
    text: "here",
  });
  expect(proxy.asked).toEqual(["example.org:443", "www.example.com:80"]);
  expect(side.seen.map(({ url }) => url)).toEqual(["/in-the-tunnel", "/a?b"]);
  expect(side.seen[1]?.headers).not.toHaveProperty("proxy-authorization");
});

it.each([
  ["not on the list", "example.net:443", {}],
  ["private here", "example.org:443", { "example.org": ["10.0.0.1"] }],
  ["in part private here", "example.org:443", { "example.org": ["93.184.215.14", "10.0.0.1"] }],
  ["below a wildcard, and not known here", "www.example.com:443", {}],
  ["an address of the proxy's network", "10.0.0.1:443", {}],
  ["the metadata service", "169.254.169.254:80", {}],
])("asks the operator's proxy for no host that is %s", async (_what, target, names) => {
  await using behind = await openBehindProxy(1, ["example.org", "*.example.com"], names);
  const { status, text } = await behind.world.tunnel(target);
  expect(status).toBe(403);
  expect(text).toContain("An operator can");
  expect(behind.proxy.asked).toEqual([]);
});

it("reaches this machine, and the hosts in NO_PROXY, without the operator's proxy", async () => {
  await using echo = await startEcho();
  const allow = [`127.0.0.1:${echo.port}`, `localhost:${echo.port}`, "example.org"];
  const names = { localhost: ["127.0.0.1"] };
  await using behind = await openBehindProxy(1, allow, names, "example.net, example.org");
  for (const host of ["127.0.0.1", "localhost"]) {
    const { status, socket } = await behind.world.tunnel(`${host}:${echo.port}`);
    expect(status).toBe(200);
    socket.end();
  }
  // A proxy would be asked for it.
  expect((await behind.world.tunnel("example.org:443")).text).toBe("example.org has no address.\n");
  expect(behind.proxy.asked).toEqual([]);
});

it.each([{ status: 403 }, { status: 407 }, "hang-up"] as const)(
  "says that a host can't be reached when the operator's proxy opens no tunnel: %j",
  async (mood) => {
    await using behind = await openBehindProxy(1, ["example.org"]);
    behind.proxy.mood = mood;
    const { status, text } = await behind.world.tunnel("example.org:443");
    expect(status).toBe(502);
    expect(text).toMatch(/^example\.org:443 can't be reached \((ERR_PROXY_CONNECT|ECONNRESET)\)\.\n$/);
    expect((await behind.world.ask({ method: "GET", path: "http://example.org/" })).status).toBe(502);
  },
);
