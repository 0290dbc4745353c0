import { readFileSync } from "node:fs";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as startRequest,
  type ServerResponse,
} from "node:http";
import { connect } from "node:net";
import { expect, it, vi } from "vitest";
import { passCall } from "../../../src/service/runners/models/pass-call.ts";
import { listenAtPath } from "../../../src/shared/machine/listen.ts";
import { processStat } from "../../../src/service/runner/workspace/process-group.ts";
import {
  callDoor,
  doorsOf,
  LEASE_KEY,
  modelAt,
  openDoorWorld,
  readOut,
  spawnDoor,
} from "../../support/model-door.ts";
import { openTempDir } from "../../support/temp-dir.ts";
import { PATIENT } from "../../support/patient.ts";
import { readAll, REAL_KEY, type Seen, startHttpSide } from "../../support/turn-network.ts";

const CALL = { model: "claude-x", max_tokens: 100, messages: [{ role: "user", content: "hello" }] };
const MESSAGES = "/models/up/v1/messages";
const MB = 1024 ** 2;

function plainAnswer(_seen: Seen, _request: IncomingMessage, response: ServerResponse): void {
  response
    .writeHead(200, { "content-type": "application/json" })
    .end(JSON.stringify({ type: "message", usage: { input_tokens: 1, output_tokens: 1 } }));
}

/** Answers without end, as fast as it is read. `written` is called with the bytes so far. */
function endlessAnswer(written: (bytes: number) => void = () => {}) {
  return (_seen: Seen, _request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const event = Buffer.from(`data: ${"x".repeat(64 * 1024)}\n\n`);
    let bytes = 0;
    const write = (): void => {
      while (!response.destroyed) {
        bytes += event.length;
        written(bytes);
        if (!response.write(event)) return void response.once("drain", write);
      }
    };
    write();
  };
}

/** Sends a request with exactly this target. */
async function rawCall(port: number, path: string, headers: Record<string, string> = {}): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const sent = startRequest({
    port,
    path,
    method: "POST",
    headers: { authorization: `Bearer ${LEASE_KEY}`, ...headers },
  });
  sent.on("error", reject).on("response", (answer) => {
    answer.resume();
    resolve(answer.statusCode ?? 0);
  });
  sent.end(JSON.stringify(CALL));
  return promise;
}

it("ends a provider's answer that doesn't end, and shows that it is broken off", async () => {
  await using side = await startHttpSide(endlessAnswer());
  await using world = await openDoorWorld([modelAt(side.url)]);
  world.open("a");
  const { bytes, isWhole } = await readOut(await world.call("a", MESSAGES, { ...CALL, stream: true }));
  expect(isWhole).toBe(false);
  expect(bytes).toBeGreaterThan(60 * MB);
  expect(bytes).toBeLessThanOrEqual(64 * MB);
  await expect.poll(() => world.usages.length, PATIENT).toBe(1);
});

it("shows when a provider breaks off, before its answer and in the middle of it", async () => {
  await using side = await startHttpSide((seen, request, response) => {
    if (seen.body.includes("before")) return request.socket.destroy();
    response.writeHead(200, { "content-type": "text/event-stream" }).write("data: 1\n\n");
    return setImmediate(() => request.socket.destroy());
  });
  await using world = await openDoorWorld([modelAt(side.url)]);
  world.open("a");
  const before = { ...CALL, messages: [{ role: "user", content: "before" }] };
  const failed = await world.call("a", MESSAGES, before);
  expect([failed.status, await failed.json()]).toEqual([502, expect.objectContaining({ type: "error" })]);
  const broken = await readOut(await world.call("a", MESSAGES, CALL));
  expect(broken).toEqual({ bytes: 9, isWhole: false });
});

it.each([
  ["204", 204, {}, 204],
  ["304", 304, {}, 304],
  ["599", 599, {}, 599],
  ["999", 999, {}, 502],
  ["headers without end", 200, { "x-request-id": "x".repeat(200_000) }, 502],
])("takes a provider's odd answer: %s", async (_title, status, headers, expected) => {
  await using side = await startHttpSide((_seen, _request, response) => {
    response.writeHead(status, headers).end();
  });
  await using world = await openDoorWorld([modelAt(side.url)]);
  world.open("a");
  const first = world.call("a", MESSAGES, CALL);
  expect((await first).status).toBe(expected);
  const { pid } = world;
  const before = pid();
  expect((await world.call("a", MESSAGES, CALL)).status).toBe(expected);
  expect(pid()).toBe(before);
});

it("leads nowhere but to the models of the piece of work's own project", async () => {
  await using side = await startHttpSide(plainAnswer);
  await using world = await openDoorWorld([modelAt(side.url)]);
  world.open("a");
  for (const path of [
    "/models/other/v1/messages",
    "/models/UP/v1/messages",
    "/models/up/v1/files",
    "/models/up/v1/messages/batches",
    "/models/up/..%2fup/v1/messages",
    "/models/up/v1/..%2f..%2ffiles",
    "/models/up/v1/%2e%2e/%2e%2e/files",
    "/models/up%2f..%2fother/v1/messages",
    "/models/up/@evil.test/v1/messages",
    "/models/up//v1/messages",
    "/models/up/v1/messages%00",
    "/models/up/v1/messages%0d%0ax-api-key:%20x",
    "/models/up/v1/messages/models/up/v1/messages",
    "/models/%2e%2e/%2e%2e/b/models/up/v1/messages",
    "/models/up/../../../b/models/up/v1/messages",
    "/models/up/../../../../../../1/models/up/v1/messages",
  ]) {
    expect([path, await rawCall(world.port, `/runner/work/a${path}`)]).toEqual([path, 404]);
  }
  expect(side.seen).toEqual([]);
  expect(world.usages).toEqual([]);
});

it("hands a provider nothing of what is between runner and service, whatever the headers say", async () => {
  await using side = await startHttpSide(plainAnswer);
  await using world = await openDoorWorld([modelAt(side.url)]);
  world.open("a");
  const status = await rawCall(world.port, `/runner/work/a${MESSAGES}?key=${LEASE_KEY}&beta=true`, {
    connection: "authorization, x-api-key, close",
    cookie: LEASE_KEY,
    "docs-agent-lease": LEASE_KEY,
    "openai-organization": "other",
    "x-forwarded-for": "10.0.0.1",
    "x-api-key": "sk-turn-1",
    "x-goog-api-key": "sk-turn-2",
    host: "evil.test",
  });
  expect(status).toBe(200);
  const [seen] = side.seen;
  expect(seen?.url).toBe("/v1/messages?beta=true");
  expect(seen?.headers["x-api-key"]).toBe(REAL_KEY);
  expect(JSON.stringify(seen)).not.toMatch(/lease|sk-turn|other|10\.0\.0|evil|cookie/);
});

it("tells the door's process the key of the work and not the lease's", async () => {
  await using dir = await openTempDir();
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    headers.push(request.headers);
    request.resume().once("end", () => response.end());
  });
  const socketPath = dir.file("socket");
  await listenAtPath(server, socketPath);
  for (const name of ["authorization", "x-api-key", "x-goog-api-key", "cookie", "docs-agent-lease"]) {
    const request = new Request(`http://s.test/runner/work/a${MESSAGES}`, {
      method: "POST",
      headers: { [name]: `Bearer ${LEASE_KEY}`, "anthropic-beta": "b" },
      body: "{}",
    });
    const { status } = await passCall(request, { socketPath, work: 7, key: "k" }, () => {});
    expect(status).toBe(200);
  }
  await server[Symbol.asyncDispose]();
  expect(headers).toHaveLength(5);
  for (const each of headers)
    expect(each).toMatchObject({ authorization: "Bearer k", "anthropic-beta": "b" });
  expect(JSON.stringify(headers)).not.toContain(LEASE_KEY);
});

it("bounds what a runner sends, and goes on with others' calls", async () => {
  await using side = await startHttpSide(plainAnswer);
  await using world = await openDoorWorld([modelAt(side.url)]);
  world.open("a");
  world.open("b");
  const huge = { ...CALL, messages: [{ role: "user", content: "x".repeat(9 * MB) }] };
  const deep = { ...CALL, metadata: JSON.parse(`${"[".repeat(500)}${"]".repeat(500)}`) as object };
  const many = { ...CALL, messages: Array.from({ length: 200_000 }, () => 0) };
  // Its client may also find the connection closed before it has read the answer.
  const refused = await world.call("a", MESSAGES, huge).catch(() => null);
  expect([413, 502, undefined]).toContain(refused?.status);
  expect((await world.call("a", MESSAGES, deep)).status).toBe(400);
  expect((await world.call("a", MESSAGES, many)).status).toBe(400);
  expect(side.seen).toEqual([]);
  // Bodies that don't arrive hold only their own work's places.
  const started = Array.from({ length: 140 }, () => {
    const socket = connect(world.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(
      `POST /runner/work/a${MESSAGES} HTTP/1.1\r\nhost: s\r\nauthorization: Bearer ${LEASE_KEY}\r\n` +
        "connection: close\r\ncontent-length: 1000\r\n\r\n{",
    );
    return socket;
  });
  const first = await Promise.race(started.map((socket) => readAll(socket)));
  expect(first.toString()).toMatch(/^HTTP\/1\.1 429 [^]*Too many calls at once/);
  expect((await world.call("b", MESSAGES, CALL)).status).toBe(200);
  for (const socket of started) socket.destroy();
  await vi.waitUntil(async () => (await world.call("a", MESSAGES, CALL)).status === 200, PATIENT);
  expect(await world.door.close("a")).toMatchObject({ calls: 1 });
});

it("shows its real key to nobody, and no key to the log", async () => {
  await using side = await startHttpSide((seen, _request, response) => {
    const key = String(seen.headers["x-api-key"]);
    response
      .writeHead(seen.body.includes("401") ? 401 : 200, { "content-type": "text/plain", "request-id": key })
      .end(`${key} ${Buffer.from(key).toString("base64")} ${JSON.stringify({ key })}`);
  });
  await using subject = await spawnDoor(side.url);
  for (const content of ["200", "401", "200"]) {
    const answer = await callDoor(`${subject.url}${MESSAGES}`, {
      ...CALL,
      messages: [{ role: "user", content }],
      unknown_field: LEASE_KEY,
    });
    expect(answer.status).toBe(Number(content));
    const shown = JSON.stringify([[...answer.headers], await answer.text()]);
    expect(shown).not.toContain(REAL_KEY);
    expect(shown).not.toContain(Buffer.from(REAL_KEY).toString("base64"));
  }
  expect((await callDoor(`${subject.url}/models/other/v1/messages`, CALL)).status).toBe(404);
  await vi.waitUntil(() => subject.output().includes("refused the key"), PATIENT);
  await vi.waitUntil(() => subject.output().split("model call ended").length === 4, PATIENT);
  expect(subject.output()).not.toContain(REAL_KEY);
  expect(subject.output()).not.toContain(LEASE_KEY);
  expect(subject.output()).not.toContain("sk-turn");
});

it("ends with a service that was killed", async () => {
  await using side = await startHttpSide(plainAnswer);
  await using subject = await spawnDoor(side.url);
  expect((await callDoor(`${subject.url}${MESSAGES}`, CALL)).status).toBe(200);
  const [door = 0] = doorsOf(subject.pid);
  expect(door).toBeGreaterThan(0);
  process.kill(subject.pid, "SIGKILL");
  await vi.waitUntil(async () => (await processStat(door))?.isRunning !== true, PATIENT);
});

function peakMegabytes(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
}

it("holds no bodies in the service's process, in either direction", async () => {
  let written = 0;
  await using side = await startHttpSide((seen, request, response) => {
    if (seen.body.length > MB) return plainAnswer(seen, request, response);
    return endlessAnswer((bytes) => (written = Math.max(written, bytes)))(seen, request, response);
  });
  await using subject = await spawnDoor(side.url);
  const large = { ...CALL, messages: [{ role: "user", content: "x".repeat(7 * MB) }] };
  const address = `${subject.url}${MESSAGES}`;
  expect(
    (await callDoor(address, { ...large, messages: [{ role: "user", content: "x".repeat(2 * MB) }] })).status,
  ).toBe(200);
  const before = peakMegabytes(subject.pid);
  const answers = await Promise.all(Array.from({ length: 30 }, () => callDoor(address, large)));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  for (let call = 0; call < 3; call += 1) {
    expect((await readOut(await callDoor(address, CALL))).bytes).toBeGreaterThan(60 * MB);
  }
  expect(peakMegabytes(subject.pid) - before).toBeLessThan(100);

  // Nobody reads this answer, so the provider can't write it.
  written = 0;
  const unread = await callDoor(address, CALL);
  let looks = 0;
  let last = -1;
  await vi.waitUntil(() => {
    looks = written === last ? looks + 1 : 0;
    last = written;
    return looks > 20;
  }, PATIENT);
  expect(written).toBeGreaterThan(0);
  expect(written).toBeLessThan(16 * MB);
  await unread.body?.cancel();
});
