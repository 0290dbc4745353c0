import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { networkInterfaces } from "node:os";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { openStateFolder } from "../../playground/state-folder.ts";
import { COMPILE_CACHE } from "../support/child-process.ts";
import { atNight } from "../support/nightly.ts";
import { openTempDir } from "../support/temp-dir.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Several programs come up; on a busy machine that takes a while. */
const PATIENCE_MS = 120_000;

/** A playground in a process of its own, on free ports. */
function startPlayground(command: string, args: string[], env: Record<string, string> = {}) {
  const child = spawn(command, [...args, "--port", "0"], {
    cwd: ROOT,
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const { promise, resolve } = Promise.withResolvers<string>();
  const exited = once(child, "close").then(([code]) => code as number | null);
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      const url = /Open\s+(http\S+)/.exec(said)?.[1];
      if (url !== undefined) resolve(url);
    });
  }
  return {
    /** The page's address, once it is up; everything it said, when it ends before. */
    url: Promise.race([promise, exited.then(() => said)]),
    ended: exited.then((code) => ({ code, said })),
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await exited;
    },
  };
}

it(
  "starts with an agent of one's own, and a second one on the same folder changes nothing",
  { tags: "nightly", timeout: PATIENCE_MS },
  async () => {
    await using dir = await openTempDir();
    const path = dir.file("playground");
    // By npm, whose own variables the agent's environment must survive.
    const npm = ["run", "--silent", "playground", "--", "--dir", path];
    await using first = startPlayground("npm", npm, { PLAYGROUND_AGENT: "opencode acp" });
    const url = await first.url;
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
    for (const options of [["--fresh"], []]) {
      await using second = startPlayground(process.execPath, [
        "playground/main.ts",
        "--dir",
        path,
        ...options,
      ]);
      const { code, said } = await second.ended;
      expect(code).toBe(1);
      expect(said).toContain(`Another playground is using ${path}. Stop it with Ctrl-C`);
      expect(said).toContain("--dir data/second --port 4500");
      expect(said).not.toMatch(/dataDir|\n {4}at /);
    }
    expect(existsSync(`${path}/secrets.json`)).toBe(true);
    expect((await fetch(`${url}api/state`)).status).toBe(200);
  },
);

it("holds its folder until it ends, and then --fresh empties it", async () => {
  await using dir = await openTempDir();
  const path = dir.file("playground");
  const first = openStateFolder(path, false);
  first.saveSecrets(first.secrets());
  for (const isFresh of [true, false]) {
    expect(() => openStateFolder(path, isFresh)).toThrow(/Another playground is using/);
  }
  expect(existsSync(first.file("secrets.json"))).toBe(true);
  first[Symbol.dispose]();
  using second = openStateFolder(path, true);
  expect(existsSync(second.file("secrets.json"))).toBe(false);
  expect(() => openStateFolder(path, false)).toThrow(/Another playground is using/);
});

it("empties no folder that is not a playground's", async () => {
  await using dir = await openTempDir();
  expect(() => openStateFolder(dir.path, true)).toThrow(/isn't a playground's folder/);
});

const ADDRESS = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

const WAYS = [
  { way: "no proxy", proxied: false },
  { way: "the shell's proxy", proxied: true },
];

it.skipIf(ADDRESS === undefined).each(atNight(WAYS, WAYS.slice(1)))(
  "gives an agent of one's own the shell's way to the internet: $way",
  { tags: "nightly", timeout: PATIENCE_MS },
  async ({ proxied }) => {
    await using dir = await openTempDir();
    const asked: string[] = [];
    await using site = await openSite((url) => asked.push(url));
    const host = `${ADDRESS}:${site.port}`;
    const agent = dir.file("agent.mjs");
    writeFileSync(agent, `await fetch("http://${host}/model");`);
    const path = dir.file("playground");
    const proxies = Object.fromEntries(
      ["HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"].flatMap((name) => [
        [name, ""],
        [name.toLowerCase(), ""],
      ]),
    );
    const args = ["playground/main.ts", "--dir", path];
    await using playground = startPlayground(process.execPath, args, {
      ...proxies,
      ...(proxied && { HTTPS_PROXY: `http://127.0.0.1:${site.port}` }),
      PLAYGROUND_AGENT: `${process.execPath} ${agent}`,
    });
    expect(await playground.url).toMatch(/^http/);
    const log = readFileSync(`${path}/logs/service.log`, "utf8");
    const address = /"address":"([^"]+)"/.exec(log)?.[1];
    const { apiKey } = JSON.parse(readFileSync(`${path}/secrets.json`, "utf8")) as { apiKey: string };
    await fetch(`${address}/v2/agent/docs/job`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: '{"prompt":"Fix the FAQ"}',
    });
    await expect.poll(() => asked[0], { timeout: PATIENCE_MS }).toBe(proxied ? `CONNECT ${host}` : "/model");
  },
);

/** A site and a proxy, on all addresses of this machine. `onAsked`: told what a request asks for. */
async function openSite(onAsked: (url: string) => void) {
  const server = createServer((request, response) => {
    onAsked(request.url ?? "");
    response.end();
  })
    .on("connect", (request, socket) => {
      onAsked(`CONNECT ${request.url}`);
      socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
    })
    .listen(0, "0.0.0.0");
  await once(server, "listening");
  const address = server.address();
  return {
    port: address === null || typeof address === "string" ? 0 : address.port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
