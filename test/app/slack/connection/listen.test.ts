import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type Socket, connect } from "node:net";
import { expect, it } from "vitest";
import { listenWith } from "../../../../src/shared/machine/listen.ts";
import { StartError } from "../../../../src/shared/errors.ts";

const options = { host: "127.0.0.1", port: 0, remedy: "Choose another.", graceMs: 1000 };

function portOf(url: string): number {
  return Number(new URL(url).port);
}

async function open(url: string): Promise<Socket> {
  const socket = connect(portOf(url), "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

it.skipIf(process.platform !== "linux")("several sockets share a port and its connections", async () => {
  const connections = new Map<Server, number>();
  await using listening = await listenWith(
    () => {
      const server = createServer((_, response) => response.end("here"));
      connections.set(server, 0);
      server.on("connection", () => connections.set(server, (connections.get(server) ?? 0) + 1));
      return server;
    },
    { ...options, sockets: 8 },
  );
  for (let n = 0; n < 100; n += 1) {
    const response = await fetch(listening.url, { headers: { connection: "close" } });
    expect(await response.text()).toBe("here");
  }
  const counts = [...connections.values()];
  expect(counts.reduce((sum, count) => sum + count)).toBe(100);
  expect(counts.filter((count) => count > 0).length).toBeGreaterThan(1);
});

it("a port that is taken is refused, also when its owner would share it", async () => {
  await using first = await listenWith(() => createServer(), { ...options, sockets: 8 });
  const second = listenWith(() => createServer(), { ...options, port: portOf(first.url), sockets: 8 });
  await expect(second).rejects.toThrow(
    new StartError(`Cannot listen on 127.0.0.1 port ${portOf(first.url)} (EADDRINUSE). Choose another.`),
  );
});

it("a port can be listened on again as soon as it was closed", async () => {
  const first = await listenWith(() => createServer(), { ...options, sockets: 8 });
  await first.close();
  await first.close();
  await using second = await listenWith(() => createServer(), {
    ...options,
    port: portOf(first.url),
    sockets: 8,
  });
  expect(second.url).toBe(first.url);
});

it("connections over the limit are closed at once, and there is room again when others end", async () => {
  await using listening = await listenWith(() => createServer((_, response) => response.end()), {
    ...options,
    sockets: 8,
    maxConnections: 5,
  });
  const held = await Promise.all(Array.from({ length: 5 }, () => open(listening.url)));
  // Each of the five has been counted: it answers.
  for (const socket of held) {
    socket.write("GET / HTTP/1.1\r\nhost: app\r\n\r\n");
    await once(socket, "data");
  }
  const over = await open(listening.url);
  await once(over.resume(), "close");
  held.forEach((socket) => socket.destroy());
  await expect
    .poll(() =>
      fetch(listening.url).then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(200);
});

it("a close waits for the request under way, but not for ever", async () => {
  const answering = Promise.withResolvers<void>();
  const listening = await listenWith(
    () =>
      createServer((request, response) => {
        if (request.url === "/soon") void answering.promise.then(() => response.end("done"));
      }),
    { ...options, graceMs: 200 },
  );
  const soon = fetch(`${listening.url}/soon`).then((response) => response.text());
  const never = fetch(`${listening.url}/never`).catch(() => "cut off");
  const idle = await open(listening.url);
  await new Promise((resolve) => idle.write("GET / HTTP/1.1\r\nhost: app\r\n", resolve));
  const closed = listening.close();
  answering.resolve();
  expect(await soon).toBe("done");
  await closed;
  expect(await never).toBe("cut off");
});
