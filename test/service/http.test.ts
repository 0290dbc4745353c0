import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { MAX_BODY_BYTES } from "../../src/service/http/bounded-body.ts";
import { MAX_PROMPT_BYTES } from "../../src/shared/contract/request.ts";
import { serveHttp } from "../../src/service/serve.ts";
import { makeServiceProject } from "../support/service-project.ts";
import { ServiceUnderTest } from "../support/service-under-test.ts";

const JOBS = "/v2/agent/docs/job";

async function faultOf(response: Response, status: number): Promise<string> {
  expect(response.status).toBe(status);
  const body = (await response.json()) as { error: string };
  expect(Object.keys(body)).toEqual(["error"]);
  return body.error;
}

it("takes a prompt of 64 KiB and refuses a longer one, counting bytes", async () => {
  await using subject = await ServiceUnderTest.start();
  const ask = (prompt: string) => subject.ask(JOBS, { body: { prompt } });
  expect((await ask("x".repeat(MAX_PROMPT_BYTES))).status).toBe(201);
  expect((await ask("🦊".repeat(MAX_PROMPT_BYTES / 4))).status).toBe(201);
  expect(await faultOf(await ask("x".repeat(MAX_PROMPT_BYTES + 1)), 400)).toMatch(
    /^prompt must be .*65536 bytes/,
  );
  expect(await faultOf(await ask("é".repeat(MAX_PROMPT_BYTES / 2 + 1)), 400)).toMatch(/^prompt must be/);
});

it("stores a prompt exactly, whatever characters it has", async () => {
  await using subject = await ServiceUnderTest.start();
  const prompt = "a\u0000b\r\n\u2028 \u202e <!channel> 'x'; DROP TABLE jobs; -- 🦊";
  await subject.ask(JOBS, { body: { prompt } });
  expect((await subject.runner.run(1)).input.prompt).toBe(prompt);
});

it("reads no more than the limit of a body that does not say how long it is", async () => {
  await using subject = await ServiceUnderTest.start();
  let sent = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += 65_536;
      controller.enqueue(new Uint8Array(65_536).fill(0x20));
    },
  });
  const response = await fetch(`${subject.url}${JOBS}`, {
    method: "POST",
    headers: { authorization: `Bearer ${subject.keys["docs"]}`, "content-type": "application/json" },
    body: endless,
    duplex: "half",
  } as RequestInit);
  expect(await faultOf(response, 413)).not.toBe("");
  expect(sent).toBeLessThan(64 * MAX_BODY_BYTES);
});

it("takes a body that does not say how long it is", async () => {
  await using subject = await ServiceUnderTest.start();
  const response = await fetch(`${subject.url}${JOBS}`, {
    method: "POST",
    headers: { authorization: `Bearer ${subject.keys["docs"]}`, "content-type": "application/json" },
    body: new Blob(['{"prompt":"', "Fix", '"}']).stream(),
    duplex: "half",
  } as RequestInit);
  expect(response.status).toBe(201);
  expect((await subject.runner.run(1)).input.prompt).toBe("Fix");
});

it("accepts nothing of a request that ends too early", async () => {
  await using subject = await ServiceUnderTest.start();
  const { port } = new URL(subject.url);
  const socket = connect(Number(port), "127.0.0.1");
  await once(socket, "connect");
  socket.write(
    `POST ${JOBS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${subject.keys["docs"]}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"prompt":"Fix"}`,
  );
  socket.end();
  await text(socket).catch(() => "");
  expect((await subject.ask("/healthz")).status).toBe(200);
  expect(subject.store.jobs({ projectId: null, status: null, limit: 10 })).toEqual([]);
  expect(subject.logger.text("error")).toBe("");
});

it.each(["\u0000", "\u200b", " \u2060\n", "\ufeff\u00ad", "\u2800"])(
  "refuses the prompt %j, in which there is nothing to read",
  async (prompt) => {
    await using subject = await ServiceUnderTest.start();
    expect(await faultOf(await subject.ask(JOBS, { body: { prompt } }), 400)).toMatch(/^prompt must be/);
    expect(subject.store.jobs({ projectId: null, status: null, limit: 10 })).toEqual([]);
  },
);

it("takes no body that is encoded", async () => {
  await using subject = await ServiceUnderTest.start();
  const headers = { "content-encoding": "gzip", "content-type": "application/json" };
  expect(await faultOf(await subject.ask(JOBS, { body: "x", headers }), 415)).toContain("Content-Encoding");
});

it("answers 408 to a body that comes too slowly, and closes", async () => {
  const app = { fetch: async (request: Request) => new Response(await request.text()) };
  await using listening = await serveHttp(app, { host: "127.0.0.1", port: 0 }, 300);
  const socket = connect(Number(new URL(listening.url).port), "127.0.0.1");
  await once(socket, "connect");
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nx`);
  const drip = setInterval(() => socket.write("x"), 20);
  let answer = "";
  // What is written to a connection that the server has closed resets it.
  socket.on("error", () => {});
  socket.on("data", (part) => {
    clearInterval(drip);
    answer += part.toString();
  });
  await new Promise((closed) => socket.once("close", closed));
  expect(answer).toContain("HTTP/1.1 408");
});

it("looks at the key before anything else of a request", async () => {
  await using subject = await ServiceUnderTest.start();
  const huge = { body: "x".repeat(MAX_BODY_BYTES + 1), headers: { "content-type": "text/plain" } };
  expect(await faultOf(await subject.ask("/v2/agent/nope/job", { ...huge, key: null }), 401)).not.toBe("");
  expect(await faultOf(await subject.ask("/v2/agent/api/job", huge), 403)).not.toBe("");
  expect(await faultOf(await subject.ask(JOBS, huge), 413)).not.toBe("");
});

it("answers 405 with what is allowed", async () => {
  await using subject = await ServiceUnderTest.start();
  const answers = await Promise.all([
    subject.ask(JOBS, { method: "PUT", body: {} }),
    subject.ask(JOBS, { method: "DELETE" }),
    subject.ask(`${JOBS}/x`, { method: "PATCH", body: {} }),
    subject.ask(`${JOBS}/x/message`),
    subject.ask("/healthz", { method: "POST", body: {} }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([405, 405, 405, 405, 405]);
  expect(answers.map(({ headers }) => headers.get("allow"))).toEqual([
    "POST, GET, HEAD",
    "POST, GET, HEAD",
    "GET, HEAD",
    "POST",
    "GET, HEAD",
  ]);
  for (const answer of answers) await faultOf(answer, 405);
});

it("answers 404 as JSON at addresses that do not exist", async () => {
  await using subject = await ServiceUnderTest.start();
  for (const path of ["/", "/v1/agent/docs/job", `${JOBS}/`, `${JOBS}/x/messages`, "/v2/agent"]) {
    expect(await faultOf(await subject.ask(path), 404)).not.toBe("");
  }
});

it("says nothing of its insides when it fails, and logs them", async () => {
  await using subject = await ServiceUnderTest.start();
  subject.db.exec("DROP TABLE turns");
  for (const answer of [
    await subject.ask(JOBS, { body: { prompt: "Fix" } }),
    await subject.ask(`${JOBS}/job-1`),
  ]) {
    const error = await faultOf(answer, 500);
    expect(error).not.toMatch(/sqlite|table|turns|\/|\bat\b .*:\d/i);
  }
  expect(subject.logger.lines.filter(({ message }) => message === "request failed")).toHaveLength(2);
  expect((await subject.ask("/healthz")).status).toBe(200);
});

it("is not ready while nothing can be stored", async () => {
  await using subject = await ServiceUnderTest.start();
  expect(await (await subject.ask("/readyz", { key: null })).json()).toMatchObject({ status: "ok" });
  subject.db.exec("DROP TABLE probe");
  // Whoever asks, the disk is written to once a second at most.
  expect((await subject.ask("/readyz", { key: null })).status).toBe(200);
  subject.clock.advance(1000);
  const response = await subject.ask("/readyz", { key: null });
  expect(response.status).toBe(503);
  expect(await response.json()).toEqual({ status: "unavailable", tasks: null });
});

it("shows the repository without what is only this machine's, as it was when the job was created", async () => {
  const codeHost = { kind: "none" } as const;
  await using subject = await ServiceUnderTest.start({
    projects: [
      makeServiceProject(),
      makeServiceProject({ id: "local", codeHost, repository: "/srv/git/handbook.git", model: "m-1" }),
    ],
  });
  const local = { body: { prompt: "Fix" }, key: subject.keys["local"] ?? null };
  const created = (await (await subject.ask("/v2/agent/local/job", local)).json()) as { id: string };
  expect(created).toMatchObject({ source: { repository: "handbook", ref: "main" }, model: "m-1" });
  await subject.stop();
  subject.projects[1] = makeServiceProject({ id: "local", baseBranch: "next", model: "m-2" });
  await subject.start();
  const read = await subject.ask(`/v2/agent/local/job/${created.id}`, { key: local.key });
  expect(await read.json()).toEqual(created);
});

it("writes no key and no prompt to the log", async () => {
  await using subject = await ServiceUnderTest.start();
  const key = subject.keys["docs"] ?? "";
  const wrong = `docsagent_${"w".repeat(44)}`;
  const prompt = "the-words-of-a-person";
  await subject.ask(JOBS, { body: { prompt } });
  await subject.ask(JOBS, { body: { prompt }, key: wrong });
  await subject.ask(`${JOBS}/${key}?key=${key}`);
  await subject.ask(`/v2/agent/${key}/job`, { body: { prompt } });
  await subject.ask(JOBS, { body: `{"prompt":"${prompt}` });
  subject.db.exec("DROP TABLE turns");
  await subject.ask(JOBS, { body: { prompt } });
  const log = JSON.stringify(subject.logger.lines, (_name, value: unknown) =>
    value instanceof Error ? `${value.message} ${value.stack}` : value,
  );
  expect(log).toContain("request failed");
  for (const secret of [key, wrong, prompt]) expect(log).not.toContain(secret);
});

it("announces with every answer what it offers beyond the contract, errors included", async () => {
  await using subject = await ServiceUnderTest.start();
  const prompt = { prompt: "Fix" };
  const answers = [
    await subject.ask(JOBS, { body: prompt }),
    await subject.ask(`${JOBS}/nope`),
    await subject.ask(`${JOBS}/nope/message`, { body: prompt }),
    await subject.ask(JOBS, { body: {} }),
    await subject.ask(JOBS, { body: "{" }),
    await subject.ask(JOBS, { body: prompt, key: null }),
    await subject.ask(JOBS, { body: "x".repeat(MAX_BODY_BYTES + 1) }),
    await subject.ask(JOBS, { method: "DELETE" }),
    await subject.ask("/nowhere"),
    await subject.ask("/healthz"),
    await subject.ask("/openapi.json"),
  ];
  subject.db.exec("DROP TABLE turns; DROP TABLE probe");
  answers.push(await subject.ask(JOBS, { body: prompt }), await subject.ask("/readyz"));
  expect(answers.map(({ status }) => status)).toEqual([
    201, 404, 404, 400, 400, 401, 413, 405, 404, 200, 200, 500, 503,
  ]);
  for (const { headers } of answers) {
    expect(headers.get("Docs-Agent-Capabilities")).toBe(
      "docs-agent/3, docs-agent/2, docs-agent/1, idempotency-key, turns, list, cancel, archive, questions, attachments, requester, authors, pull-request, diff, close, changes",
    );
  }
});

it("answers a few requests that are sent at once, and closes a connection that sends on and on", async () => {
  await using subject = await ServiceUnderTest.start();
  const answersTo = async (requests: string) => {
    const socket = connect(Number(new URL(subject.url).port), "127.0.0.1");
    socket.on("error", () => {});
    socket.write(requests);
    let read = "";
    socket.setEncoding("utf8").on("data", (part: string) => (read += part));
    await once(socket, "close");
    return read.split("HTTP/1.1 200 OK").length - 1;
  };
  const request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
  const last = request.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
  expect(await answersTo(request.repeat(9) + last)).toBe(10);
  expect(await answersTo(request.repeat(999) + last)).toBeLessThan(100);
  expect((await subject.ask("/healthz")).status).toBe(200);
});
