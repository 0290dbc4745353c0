import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { openTempDir } from "../../support/temp-dir.ts";
import { openNetworkWorld, startHttpSide } from "../../support/turn-network.ts";

const RELAY = fileURLToPath(new URL("../../../src/service/network/egress/relay.ts", import.meta.url));

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}

type Ended = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string };

function run(args: string[], file = RELAY, env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [file, ...args], {
    env: { PATH: process.env["PATH"] ?? "", ...env },
  });
  return { child, ended: endOf(child) };
}

async function endOf(child: ChildProcess): Promise<Ended> {
  const texts = { stdout: "", stderr: "" };
  child.stdout?.on("data", (chunk: Buffer) => (texts.stdout += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (texts.stderr += chunk.toString()));
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  return { code, signal, ...texts };
}

const node = process.execPath;

it("brings a program's requests to the socket, alone in a folder and with its input and output", async () => {
  await using side = await startHttpSide((_seen, _request, response) => response.end("from the host"));
  await using world = await openNetworkWorld({ allow: [`127.0.0.1:${side.port}`] });
  await using dir = await openTempDir();
  // As in the sandbox: nothing of this project is beside it.
  await copyFile(RELAY, dir.file("relay.ts"));
  const port = await freePort();
  // NO_PROXY keeps loopback out, and the test's own host is on loopback.
  const env = { ...world.network.env(port), NO_PROXY: "", no_proxy: "" };
  const script = `process.stdin.on("data", async (line) => {
    const answer = await fetch(String(line).trim());
    process.stdout.write(await answer.text());
    process.exit(3);
  })`;
  const { child, ended } = run(
    [world.network.socketPath ?? "", String(port), "--", node, "-e", script],
    dir.file("relay.ts"),
    env,
  );
  child.stdin.write(`${side.url}/\n`);
  expect(await ended).toMatchObject({ code: 3, stdout: "from the host" });
  expect(side.seen).toHaveLength(1);
});

it.each(["SIGTERM", "SIGINT"] as const)("hands %s on, and ends as the program ends", async (signal) => {
  const wait = (handler: string) => `${handler}; console.log("up"); setInterval(() => {}, 1000)`;
  for (const [script, end] of [
    [wait(`process.on("${signal}", () => process.exit(7))`), { code: 7, signal: null }],
    [wait("0"), { code: null, signal }],
  ] as const) {
    const { child, ended } = run(["/nowhere", String(await freePort()), "--", node, "-e", script]);
    await once(child.stdout, "data");
    child.kill(signal);
    expect(await ended).toMatchObject(end);
  }
});

it("says that a program is missing, or can't be run", async () => {
  const port = String(await freePort());
  expect(await run(["/nowhere", port, "--", "no-such-agent"]).ended).toMatchObject({
    code: 127,
    stderr: "relay: can't find the program no-such-agent\n",
  });
  expect(await run(["/nowhere", port, "--", RELAY]).ended).toMatchObject({
    code: 126,
    stderr: `relay: can't run the program ${RELAY} (EACCES)\n`,
  });
});

it("says that it can't listen, and how it is used", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const { code, stderr } = await run(["/nowhere", String(port), "--", node, "-e", "0"]).ended;
  server.close();
  expect(code).toBe(125);
  expect(stderr).toBe(`relay: can't listen on 127.0.0.1 port ${port} (EADDRINUSE)\n`);
  for (const args of [
    [],
    ["/nowhere"],
    ["/nowhere", "x", "--", "y"],
    ["/nowhere", "1", "y"],
    ["/nowhere", "1", "--"],
  ]) {
    expect(await run(args).ended).toMatchObject({ code: 125, stderr: expect.stringContaining("usage") });
  }
});

it("goes on when the service's side is gone", async () => {
  const port = await freePort();
  const script = `fetch("http://127.0.0.1:${port}/").catch(() => console.log("refused"))`;
  const { ended } = run(["/nowhere", String(port), "--", node, "-e", script]);
  expect(await ended).toMatchObject({ code: 0, stdout: "refused\n", stderr: "" });
});

it("imports nothing but node's own modules", async () => {
  const source = await readFile(RELAY, "utf8");
  const imported = [...source.matchAll(/from "([^"]+)"/g)].map((match) => match[1]);
  expect(imported.length).toBeGreaterThan(2);
  expect(imported.filter((name) => name?.startsWith("node:") !== true)).toEqual([]);
});
