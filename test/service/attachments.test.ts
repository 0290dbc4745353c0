import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { expect, it } from "vitest";
import { ATTACHMENT_LIMITS } from "../../src/shared/contract/attachment.ts";
import { MAX_BODY_BYTES, MAX_BODY_BYTES_WITH_ATTACHMENTS } from "../../src/service/http/bounded-body.ts";
import { makeAttachment, PNG, pngOf } from "../support/attachments.ts";
import { makeServiceProject } from "../support/service-project.ts";
import { ServiceUnderTest } from "../support/service-under-test.ts";
import { resultNamed, ScriptedRunner } from "../support/scripted-runner.ts";

const JOBS = "/v2/agent/docs/job";
const MEGABYTE = 1024 ** 2;
const HOUR_MS = 60 * 60_000;

function filesOf(subject: ServiceUnderTest): string[] {
  return readdirSync(subject.dir.file("attachments"));
}

async function send(subject: ServiceUnderTest, attachments: unknown, path = JOBS, headers = {}) {
  const response = await subject.ask(path, { body: { prompt: "Fix", attachments }, headers });
  return { response, json: (await response.json()) as { id: string; error?: string } };
}

async function create(subject: ServiceUnderTest, attachments: unknown = [makeAttachment()]): Promise<string> {
  const { response, json } = await send(subject, attachments);
  expect(response.status).toBe(201);
  return json.id;
}

it("takes files with a create and with a message to the runner, in order and byte for byte", async () => {
  await using subject = await ServiceUnderTest.start();
  const text = "# Notes\r\nüber 🦊\n";
  const id = await create(subject, [makeAttachment(), makeAttachment("notes.md", "text/markdown", text)]);
  const path = `${JOBS}/${id}/message`;
  expect((await send(subject, [makeAttachment("two.png")], path)).response.status).toBe(200);
  const first = await subject.runner.run(1);
  expect(first.input.attachments).toMatchObject([
    { name: "shot.png", mediaType: "image/png", bytes: PNG.length },
    { name: "notes.md", mediaType: "text/markdown", bytes: Buffer.byteLength(text) },
  ]);
  expect(first.input.attachments.map(({ path: file }) => readFileSync(file))).toEqual([
    PNG,
    Buffer.from(text),
  ]);
  first.end(resultNamed(id, "no-changes"));
  const second = await subject.runner.run(2);
  expect(second.input.attachments).toMatchObject([{ name: "two.png" }]);
});

it.each([
  ["image/jpeg", Buffer.from([0xff, 0xd8, 0xff, 0xe0])],
  ["image/gif", "GIF89a…"],
  ["image/webp", "RIFF\u0001\n\u0000\u0000WEBPVP8 "],
  ["application/pdf", "%PDF-1.7"],
  ["application/json", "{}"],
  ["application/yaml", "a: 1"],
  ["text/plain", "plain"],
  ["text/x-rst", "plain"],
])("takes a file of the type %s", async (mediaType, content) => {
  await using subject = await ServiceUnderTest.start();
  await create(subject, [makeAttachment("file", mediaType, content)]);
  expect((await subject.runner.run(1)).input.attachments).toMatchObject([{ mediaType }]);
});

it.each([
  ["no list", "x", /^attachments must be a list of at most 5/],
  ["null", null, /^attachments must be a list/],
  ["six", Array.from({ length: 6 }, () => makeAttachment()), /^attachments must be a list of at most 5/],
  ["one that is no object", ["x"], /^attachments\.0 must be an object with name, mediaType and data/],
  [
    "one without a name",
    [{ mediaType: "image/png", data: "x" }],
    /^attachments\.0\.name must be a file name/,
  ],
  ["an empty name", [makeAttachment("")], /^attachments\.0\.name must be a file name of 1 to 200/],
  ["a name of 201 characters", [makeAttachment("x".repeat(201))], /^attachments\.0\.name must be/],
  ["a name that is not Unicode", [makeAttachment("\ud800")], /^attachments\.0\.name must be/],
  [
    "a type that is not taken",
    [makeAttachment("a.svg", "image/svg+xml")],
    /^attachments\.0\.mediaType must be text\/…, image\/png/,
  ],
  [
    "a type with parameters",
    [makeAttachment("a", "text/plain; charset=utf-8")],
    /^attachments\.0\.mediaType must be/,
  ],
  ["a program", [makeAttachment("a", "application/octet-stream")], /^attachments\.0\.mediaType must be/],
  ["an empty file", [makeAttachment("a", "text/plain", "")], /^attachments\.0\.data must be a file of 1 to/],
  ["no base64", [{ ...makeAttachment(), data: "not base64!!" }], /^attachments\.0\.data must be base64/],
  ["base64 without padding", [{ ...makeAttachment(), data: "YQ" }], /^attachments\.0\.data must be base64/],
  [
    "base64 in lines",
    [{ ...makeAttachment(), data: "YWFh\nYWFhYWFh\n" }],
    /^attachments\.0\.data must be base64/,
  ],
  [
    "a GIF called PNG",
    [makeAttachment("a.png", "image/png", "GIF89a")],
    /data must be a file of the type image\/png/,
  ],
  [
    "HTML called PDF",
    [makeAttachment("a", "application/pdf", "<html>")],
    /data must be a file of the type application\/pdf/,
  ],
  [
    "text in latin1",
    [makeAttachment("a", "text/plain", Buffer.from([0x66, 0xfc]))],
    /data must be text in UTF-8/,
  ],
  ["text with a zero byte", [makeAttachment("a", "text/plain", "a\u0000b")], /data must be text in UTF-8/],
  [
    "the second one wrong",
    [makeAttachment(), makeAttachment("a", "application/pdf")],
    /^attachments\.1\.data must be/,
  ],
  [
    "one that is too large",
    [makeAttachment("a", "image/png", pngOf(4 * MEGABYTE + 1))],
    /data must be a file of 1 to 4194304/,
  ],
  [
    "too much together",
    [3, 3, 2.5].map((size) => makeAttachment("a", "image/png", pngOf(size * MEGABYTE))),
    /^attachments must be at most 8388608 bytes, all of them together/,
  ],
])(
  "refuses %s, names the field and says what to put, and keeps nothing",
  async (_what, attachments, error) => {
    await using subject = await ServiceUnderTest.start();
    const { response, json } = await send(subject, attachments);
    expect(response.status).toBe(400);
    expect(json).toEqual({ error: expect.stringMatching(error) as string });
    expect(filesOf(subject)).toEqual([]);
    expect(subject.store.unfinishedJobs()).toEqual([]);
  },
);

it("takes as much as it says, at once", async () => {
  await using subject = await ServiceUnderTest.start();
  const { bytes, totalBytes } = ATTACHMENT_LIMITS;
  expect(2 * bytes).toBe(totalBytes);
  await create(
    subject,
    [1, 2].map((n) => makeAttachment(`${n}.png`, "image/png", pngOf(bytes))),
  );
  expect((await subject.runner.run(1)).input.attachments.map((each) => each.bytes)).toEqual([bytes, bytes]);
});

it("takes large bodies with attachments only, and for creates and messages only", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  const large = { prompt: "Fix", attachments: [makeAttachment("a", "image/png", pngOf(MEGABYTE))] };
  const tooLarge = `{"attachments":[],"prompt":"${"x".repeat(MAX_BODY_BYTES_WITH_ATTACHMENTS)}"}`;
  const statusOf = async (path: string, body: unknown) => (await subject.ask(path, { body })).status;
  expect(await statusOf(JOBS, large)).toBe(201);
  expect(await statusOf(`${JOBS}/${id}/message`, large)).toBe(200);
  expect(await statusOf(`${JOBS}/${id}/answer`, large)).toBe(413);
  expect(await statusOf(`${JOBS}/${id}/archive`, large)).toBe(413);
  expect(await statusOf("/x/job", large)).toBe(413);
  expect(await statusOf(JOBS, { prompt: "x".repeat(MAX_BODY_BYTES) })).toBe(413);
  expect(await statusOf(JOBS, { prompt: '"attachments"'.repeat(MAX_BODY_BYTES / 8) })).toBe(413);
  expect(await statusOf(JOBS, tooLarge)).toBe(413);
});

/** The beginning of a create that never goes on. */
async function hangingCreate(subject: ServiceUnderTest, key: string, beginning: string): Promise<Socket> {
  const socket = connect(Number(new URL(subject.url).port), "127.0.0.1");
  await once(socket, "connect");
  socket.write(
    `POST ${JOBS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 12000000\r\n\r\n${beginning}`,
  );
  return socket;
}

it("refuses strangers before they have sent a body", async () => {
  await using subject = await ServiceUnderTest.start();
  const socket = await hangingCreate(subject, "docsagent_stranger", '{"attachments":[');
  const [answer] = (await once(socket, "data")) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 401 /);
  socket.destroy();
});

it("reads so many large bodies at once, and says when there may be room", async () => {
  await using subject = await ServiceUnderTest.start();
  const beginning = `{"attachments":[{"data":"${"A".repeat(MAX_BODY_BYTES)}`;
  const large = { prompt: "Fix", attachments: [makeAttachment("a", "image/png", pngOf(MEGABYTE))] };
  const key = subject.keys["docs"] ?? "";
  const open = await Promise.all(Array.from({ length: 20 }, () => hangingCreate(subject, key, beginning)));
  const answers: string[] = [];
  for (const socket of open) {
    socket.on("data", (chunk: Buffer) => answers.push(chunk.toString().slice(0, "HTTP/1.1 429".length)));
  }
  await expect.poll(() => answers, { timeout: 10_000 }).toEqual(Array(16).fill("HTTP/1.1 429"));
  const response = await subject.ask(JOBS, { body: large });
  expect(response.status).toBe(429);
  expect(response.headers.get("retry-after")).toBe("5");
  expect(await response.json()).toEqual({ error: expect.stringContaining("large requests") as string });
  expect((await subject.ask(JOBS, { body: { prompt: "Fix" } })).status).toBe(201);
  for (const socket of open) socket.destroy();
  await expect.poll(async () => (await subject.ask(JOBS, { body: large })).status).toBe(201);
});

it("keeps what came with a turn over a crash, and removes what came with none", async () => {
  await using subject = await ServiceUnderTest.start({ jobsAtOnce: 1 });
  await create(subject);
  const id = await create(subject, [makeAttachment("kept.png")]);
  await subject.runner.run(1);
  // As if it had died between the files and the turn.
  writeFileSync(subject.dir.file("attachments/not-accepted"), "x");
  await subject.crash();
  subject.runner = new ScriptedRunner();
  await subject.start();
  expect(filesOf(subject)).toHaveLength(2);
  (await subject.runner.run(1)).end(resultNamed(id, "no-changes"));
  const { input } = await subject.runner.runOf(id);
  expect(input.attachments.map(({ name, path }) => [name, readFileSync(path)])).toEqual([["kept.png", PNG]]);
});

it.each(["pull-request", "no-changes", "failed"] as const)(
  "removes the files of a turn that ended: %s",
  async (how) => {
    await using subject = await ServiceUnderTest.start();
    const id = await create(subject, [makeAttachment(), makeAttachment()]);
    const { end } = await subject.runner.run(1);
    expect(filesOf(subject)).toHaveLength(2);
    end(resultNamed(id, how));
    await subject.service.queue.idle();
    expect(filesOf(subject)).toEqual([]);
  },
);

it("keeps the files of a turn that will be tried again", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  (await subject.runner.run(1)).fail(new Error("the git server answered 503"));
  await subject.service.queue.idle();
  subject.clock.advance(15_000);
  const again = await subject.runner.run(2);
  expect(again.input.attachments.map(({ path }) => readFileSync(path))).toEqual([PNG]);
  again.end(resultNamed(id, "no-changes"));
  await subject.service.queue.idle();
  expect(filesOf(subject)).toEqual([]);
});

it.each(["turn/1/cancel", "archive"])("removes the files of a turn that was ended by %s", async (how) => {
  await using subject = await ServiceUnderTest.start({ jobsAtOnce: 1 });
  const [running, waiting] = [await create(subject), await create(subject)];
  await subject.runner.run(1);
  for (const [id, left] of [
    [waiting, 1],
    [running, 0],
  ] as const) {
    expect((await subject.ask(`${JOBS}/${id}/${how}`, { method: "POST" })).status).toBe(200);
    await expect.poll(() => filesOf(subject).length).toBe(left);
  }
});

it("removes the files of a turn that is cancelled on the command line", async () => {
  await using subject = await ServiceUnderTest.start({ jobsAtOnce: 1 });
  const ids = [await create(subject), await create(subject)];
  const { input } = await subject.runner.run(1);
  const waiting = ids.find((id) => id !== input.jobId) ?? "";
  // The other one waits for room.
  await expect.poll(async () => (await subject.service.queue.counts()).running).toBe(2);
  subject.service.runCommand({ name: "cancel-job", id: waiting });
  await expect.poll(() => filesOf(subject).length).toBe(1);
});

it("accepts a repeated request once, and refuses another file under the same key", async () => {
  await using subject = await ServiceUnderTest.start();
  const key = { "idempotency-key": "one" };
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => send(subject, [makeAttachment()], JOBS, key)),
  );
  expect(new Set(answers.map(({ json }) => json.id)).size).toBe(1);
  expect(filesOf(subject)).toHaveLength(1);
  for (const other of [
    [],
    [makeAttachment("other.png")],
    [makeAttachment("shot.png", "text/plain", "x")],
    [makeAttachment("shot.png", "image/png", pngOf(100))],
    [makeAttachment(), makeAttachment()],
  ]) {
    expect((await send(subject, other, JOBS, key)).response.status).toBe(422);
  }
  expect(filesOf(subject)).toHaveLength(1);
});

it("keeps all files of many requests at once", async () => {
  await using subject = await ServiceUnderTest.start();
  await Promise.all(
    Array.from({ length: 40 }, (_, n) =>
      create(subject, [makeAttachment("a", "text/plain", `${n}`.repeat(1000))]),
    ),
  );
  expect(filesOf(subject)).toHaveLength(40);
});

it(
  "refuses files when too many of a project's wait, and keeps nothing of them",
  { tags: "nightly" },
  async () => {
    await using subject = await ServiceUnderTest.start({
      projects: [makeServiceProject(), makeServiceProject({ id: "api" })],
    });
    const full = [1, 2].map((n) => makeAttachment(`${n}.png`, "image/png", pngOf(4 * MEGABYTE)));
    const ids: string[] = [];
    for (let n = 0; n < 12; n += 1) ids.push(await create(subject, full));
    const { response, json } = await send(subject, full);
    expect(response.status).toBe(429);
    expect(response.headers.get("retry-after")).toBe("60");
    expect(json.error).toMatch(/attachments wait/);
    expect(filesOf(subject)).toHaveLength(24);
    await create(subject, []);
    await create(subject, full.slice(1));
    const api = { body: { prompt: "Fix", attachments: full }, key: subject.keys["api"] ?? null };
    expect((await subject.ask("/v2/agent/api/job", api)).status).toBe(201);

    (await subject.runner.run(1)).end(resultNamed(ids[0] ?? "", "no-changes"));
    await subject.runner.run(4);
    await create(subject, full);
  },
);

it("forgets names with their job", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  (await subject.runner.run(1)).end(resultNamed(id, "no-changes"));
  await subject.service.queue.idle();
  subject.store.archive(id, subject.clock.now());
  subject.clock.advance(91 * 24 * HOUR_MS);
  await expect.poll(() => subject.store.job(id)).toBeNull();
  expect(subject.db.prepare("SELECT * FROM attachments").all()).toEqual([]);
});

it("logs neither names nor contents", async () => {
  await using subject = await ServiceUnderTest.start();
  await create(subject, [makeAttachment("private-name.txt", "text/plain", "private-words")]);
  await send(subject, [makeAttachment("private-name.txt", "image/png", "private-words")]);
  const log = JSON.stringify(subject.logger.lines);
  expect(log).toContain("turn accepted");
  expect(log).not.toMatch(/private-|cHJpdmF0ZS/);
});
