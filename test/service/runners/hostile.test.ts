import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { RunnerStore } from "../../../src/service/jobs/runner-store.ts";
import type { WorkResult } from "../../../src/service/runner/protocol.ts";
import { HandRunner } from "../../support/hand-runner.ts";
import { PATIENT } from "../../support/patient.ts";
import { ServiceUnderTest } from "../../support/service-under-test.ts";

const NOTHING: WorkResult = { kind: "turn", result: { kind: "no-changes", summary: null } };
/** What a refusal may take on a busy machine. */
const QUICK_MS = 5_000;

async function open() {
  const subject = await ServiceUnderTest.start({ isWithoutRunner: true });
  const addRunner = (name: string) =>
    new RunnerStore(subject.db).add({ keyPrefix: "docsagent", name, projects: null, nowMs: 0 })?.token ?? "";
  const token = addRunner("one");
  const hand = new HandRunner(() => subject.url, { token });
  const create = async () => {
    const answer = await subject.ask("/v2/agent/docs/job", { body: { prompt: "Fix" } });
    return ((await answer.json()) as { id: string }).id;
  };
  return {
    subject,
    token,
    addRunner,
    hand,
    create,
    [Symbol.asyncDispose]: () => subject[Symbol.asyncDispose](),
  };
}

/**
 * Sends exactly this, and resolves to the status of the answer: 0 if the connection ends without
 * one, and 1 if nothing comes.
 */
async function statusOf(url: string, bytes: (string | Buffer)[], ends = false): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  let answer = "";
  socket.on("error", () => {}).on("close", () => resolve(0));
  socket.on("data", (chunk: Buffer) => {
    answer += chunk.toString("latin1");
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1];
    if (status !== undefined) resolve(Number(status));
  });
  for (const part of bytes) socket.write(part);
  if (ends) socket.end();
  const late = setTimeout(() => resolve(1), QUICK_MS);
  const status = await promise;
  clearTimeout(late);
  socket.destroy();
  return status;
}

type Hostile = {
  name: string;
  method?: string;
  path?: string;
  /** Null sends none. */
  token?: string | null;
  lease?: string;
  headers?: string;
  body?: string | Buffer;
  /** The body breaks off, and the connection is closed. */
  breaksOff?: boolean;
  expected: number[];
};

const CLAIM = {
  protocol: 1,
  version: "1",
  machine: "m",
  session: "s",
  places: 1,
  labels: [],
  projects: null,
};
const claim = (changes: object) => JSON.stringify({ ...CLAIM, ...changes });
const report = (changes: object) =>
  JSON.stringify({ number: 1, report: {}, questions: [], waitMs: 0, ...changes });
const MB = 1024 ** 2;

/** Requests by somebody who has a token and `WORK`, the id of a piece of work that he has. */
const HOSTILE: Hostile[] = [
  { name: "no token", token: null, path: "/about", method: "GET", expected: [401] },
  { name: "a client's key", token: "KEY", path: "/about", method: "GET", expected: [401] },
  { name: "a longer token", token: "TOKENx", expected: [401] },
  { name: "a token of 10,000 characters", token: "x".repeat(10_000), expected: [401] },
  { name: "a token in the address", token: null, path: "/about?token=TOKEN", method: "GET", expected: [401] },
  { name: "another scheme", token: null, headers: "authorization: Basic TOKEN\r\n", expected: [401] },
  { name: "headers of 20 KB", headers: `x: ${"x".repeat(20_000)}\r\n`, expected: [431] },
  { name: "a header in the middle of a header", headers: "docs-agent-lease: a\rx-b: c\r\n", expected: [400] },
  { name: "a zero in a header", headers: "docs-agent-lease: a\0b\r\n", expected: [400] },
  { name: "two lengths", headers: "content-length: 5\r\n", body: "{}", expected: [400] },
  {
    name: "a length and chunks",
    headers: "transfer-encoding: chunked\r\n",
    body: "0\r\n\r\n",
    expected: [400],
  },
  ...["GET", "PUT", "DELETE", "PATCH", "TRACE"].map((method) => ({
    name: `${method} of claims`,
    method,
    expected: [404, 405],
  })),
  { name: "POST of a result", path: "/work/WORK/result", body: "{}", expected: [405] },
  { name: "no such address", method: "GET", path: "/nothing", expected: [404] },
  ...["", "not JSON", '{"protocol":1', "[]", "null", '"x"', "[".repeat(200_000), "protocol=1&places=1"].map(
    (body) => ({
      name: `the body ${body.slice(0, 20)}`,
      body,
      expected: [400],
    }),
  ),
  ...["NaN", '"1"', "1e309", "1.5", "null"].map((number) => ({
    name: `the protocol ${number}`,
    body: `{"protocol":${number}}`,
    expected: [400],
  })),
  { name: "another protocol", body: claim({ protocol: 2 }), expected: [426] },
  { name: "places below zero", body: claim({ places: -1 }), expected: [400] },
  { name: "a billion places", body: claim({ places: 1e9 }), expected: [400] },
  { name: "51 labels", body: claim({ labels: Array.from({ length: 51 }, () => "a") }), expected: [400] },
  { name: "a long version", body: claim({ version: "v".repeat(101) }), expected: [400] },
  { name: "a field that isn't known", body: claim({ isAdmin: true }), expected: [400] },
  { name: "a prototype", body: '{"__proto__":{"protocol":1,"places":9}}', expected: [400] },
  { name: "a constructor", body: claim({ constructor: { prototype: {} } }), expected: [400] },
  { name: "a body that is no UTF-8", body: Buffer.from([123, 255, 254, 125]), expected: [400] },
  { name: "9 MB", method: "PUT", path: "/work/WORK/report", body: Buffer.alloc(9 * MB, 32), expected: [413] },
  { name: "a body that breaks off", body: '{"protocol":1', breaksOff: true, expected: [0, 400] },
  {
    name: "a compressed body",
    headers: "content-encoding: gzip\r\n",
    body: gzipSync(claim({})),
    expected: [400],
  },
  ...[
    "..%2f..%2fclaims",
    "__proto__",
    "constructor",
    "%00",
    "%E0%A4%A",
    "WORK%0d%0ax",
    "*",
    "a".repeat(5_000),
  ].map((id) => ({
    name: `work ${id.slice(0, 20)}`,
    method: "PUT",
    path: `/work/${id}/report`,
    body: report({}),
    expected: [400, 404, 409],
  })),
  ...["", "LEASEx", "x".repeat(10_000), "é"].map((lease) => ({
    name: `the lease ${lease.slice(0, 10)}`,
    method: "PUT",
    path: "/work/WORK/report",
    body: report({}),
    lease,
    expected: [409],
  })),
  ...[
    { number: 1.5 },
    { waitMs: 1e9 },
    { waitMs: -1 },
    { report: { lines: [1] } },
    { report: { usage: "no" } },
  ].map((changes) => ({
    name: `a report with ${JSON.stringify(changes)}`,
    method: "PUT",
    path: "/work/WORK/report",
    body: report(changes),
    expected: [400],
  })),
  ...["TURN", "__proto__", "turn%2f..%2f..%2fstate", "..", "turn%00"].map((kind) => ({
    name: `notes ${kind}`,
    method: "PUT",
    path: `/work/WORK/notes/${kind}`,
    body: '{"text":"x"}',
    expected: [400, 404],
  })),
  {
    name: "a note that is no text",
    method: "PUT",
    path: "/work/WORK/notes/turn",
    body: '{"text":1}',
    expected: [400],
  },
  ...["-1", "NaN", "1e3", "0x0", "length", "..%2f..%2fstate"].map((place) => ({
    name: `attachment ${place}`,
    method: "GET",
    path: `/work/WORK/attachments/${place}`,
    expected: [404],
  })),
  { name: "an odd refused token", path: "/work/WORK/token", body: '{"refused":{"$gt":""}}', expected: [400] },
  {
    name: "a result of no kind",
    method: "PUT",
    path: "/work/WORK/result",
    body: '{"kind":"x"}',
    expected: [400],
  },
  {
    name: "a model without a lease",
    path: "/work/WORK/models/claude/v1/messages",
    body: "{}",
    expected: [401],
  },
  ...["..%2fclaude", "__proto__", "claude%0d%0ax", "%2e%2e%2f%2e%2e"].map((model) => ({
    name: `the model ${model}`,
    token: "TOKEN.LEASE",
    path: `/work/WORK/models/${model}/v1/messages`,
    body: "{}",
    expected: [404],
  })),
];

it(`refuses ${HOSTILE.length} hostile requests quickly, and stays well`, async () => {
  await using world = await open();
  const { subject, hand } = world;
  const id = await world.create();
  const work = await hand.turn();
  const fill = (text: string) =>
    text
      .replaceAll("WORK", work.id)
      .replaceAll("TOKEN", world.token)
      .replaceAll("LEASE", work.token)
      .replaceAll("KEY", subject.keys["docs"] ?? "");
  const found: object[] = [];
  for (const { name, expected, ...it } of HOSTILE) {
    const {
      method = "POST",
      path = "/claims",
      token = "TOKEN",
      lease = "LEASE",
      headers = "",
      breaksOff = false,
    } = it;
    const body = Buffer.from(it.body ?? "");
    const head =
      `${method} /runner${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n` +
      (token === null ? "" : `authorization: Bearer ${token}\r\n`) +
      `docs-agent-lease: ${lease}\r\n${headers}` +
      (method === "GET" ? "" : `content-length: ${body.length + (breaksOff ? 100 : 0)}\r\n`);
    const status = await statusOf(subject.url, [`${fill(head)}\r\n`, body], breaksOff);
    if (!expected.includes(status)) found.push({ name, status, expected });
  }
  expect(found).toEqual([]);
  expect((await hand.report(work)).status).toBe(200);
  expect((await hand.end(work, NOTHING)).status).toBe(200);
  expect(subject.store.turns(id)[0]).toMatchObject({ outcome: "no-changes" });
  expect((await subject.ask("/healthz")).status).toBe(200);
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(subject.logger.text("error")).toBe("");
});

it("reads a body in crumbs no further than that shows", async () => {
  await using world = await open();
  const head = `POST /runner/claims HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${world.token}\r\ntransfer-encoding: chunked\r\n\r\n`;
  const crumbs = Array.from({ length: 20_000 }, () => "1\r\n \r\n");
  expect(await statusOf(world.subject.url, [head, ...crumbs])).toBe(400);
});

it("holds one question of each process, and the machines of a token are limited", async () => {
  await using world = await open();
  const { subject, hand } = world;
  const gone = new AbortController();
  const answers: number[] = [];
  const ask = (changes: object) =>
    hand.ask(changes, gone.signal).then(
      ({ status }) => answers.push(status),
      () => 0,
    );
  const same = Array.from({ length: 500 }, () => ask({}));
  await expect.poll(() => answers.length, PATIENT).toBe(499);
  expect(new Set(answers)).toEqual(new Set([200]));
  answers.length = 0;
  const others = Array.from({ length: 500 }, (_, n) =>
    ask({ machine: `machine-${n}`, session: `session-${n}` }),
  );
  await expect.poll(() => answers.length, PATIENT).toBe(401);
  expect(new Set(answers)).toEqual(new Set([429]));
  // Once the token is revoked, those that still wait get nothing.
  const store = new RunnerStore(subject.db);
  const other = new HandRunner(() => subject.url, { token: world.addRunner("two") });
  store.revoke(store.byName("one")?.id ?? "", 1);
  const id = await world.create();
  expect((await other.turn()).turn.jobId).toBe(id);
  gone.abort();
  await Promise.all([...same, ...others]);
  expect(answers).toHaveLength(401);
});
