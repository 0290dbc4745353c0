import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, it } from "vitest";
import { z } from "zod";
import { MAX_BODY_BYTES } from "../../src/service/http/bounded-body.ts";
import { makeAttachment } from "../support/attachments.ts";
import { makeServiceProject } from "../support/service-project.ts";
import { makeAskingAgent, type Ask, ServiceUnderTest } from "../support/service-under-test.ts";

const Documented = z.object({
  openapi: z.literal("3.1.0"),
  servers: z.array(z.object({ url: z.string() })).optional(),
  components: z.object({
    schemas: z.record(z.string(), z.unknown()),
    headers: z.record(z.string(), z.unknown()),
    securitySchemes: z.unknown(),
  }),
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        operationId: z.string(),
        security: z.array(z.unknown()).optional(),
        responses: z.record(
          z.string(),
          z.object({
            // Each is described once, for all answers.
            headers: z
              .record(z.string(), z.object({ $ref: z.string().startsWith("#/components/headers/") }).strict())
              .optional(),
            content: z
              .object({ "application/json": z.object({ schema: z.object({ $ref: z.string() }) }) })
              .optional(),
          }),
        ),
      }),
    ),
  ),
});

/** Answered by Node.js itself, without a body. */
const BY_NODE = ["408", "431"];

async function documentOf(subject: ServiceUnderTest): Promise<z.infer<typeof Documented>> {
  return Documented.parse(await (await subject.ask("/openapi.json", { key: null })).json());
}

it("answers every documented operation with every documented status, as documented, and with no other", async () => {
  const limits = { createsPerHour: 3, messagesPerHour: 1, jobsAtOnce: 2, queued: 100 };
  await using subject = await ServiceUnderTest.start({
    projects: [makeServiceProject({ agent: makeAskingAgent(), limits }), makeServiceProject({ id: "api" })],
  });
  const document = await documentOf(subject);
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: "document", components: document.components });
  const seen = new Map<string, Set<string>>();

  async function ask(operationId: string, path: string, sent: Ask = {}): Promise<unknown> {
    const response = await subject.ask(path, sent);
    const status = String(response.status);
    const operation = Object.values(document.paths)
      .flatMap((operations) => Object.values(operations))
      .find((candidate) => candidate.operationId === operationId);
    const documented = operation?.responses[status];
    if (documented?.content === undefined)
      throw new Error(`${operationId} answered ${status}, which is not documented`);
    const body: unknown = await response.json();
    const { $ref } = documented.content["application/json"].schema;
    const isValid = ajv.validate({ $ref: `document${$ref}` }, body);
    expect({ operationId, status, errors: isValid ? null : ajv.errorsText() }).toMatchObject({
      errors: null,
    });
    for (const name of Object.keys(documented.headers ?? {})) {
      expect(response.headers.get(name), `${operationId} ${status} ${name}`).toMatch(/./);
    }
    seen.set(operationId, (seen.get(operationId) ?? new Set()).add(status));
    return body;
  }

  const jobs = "/v2/agent/docs/job";
  const prompt = { prompt: "Fix" };
  const { id } = z.object({ id: z.string() }).parse(await ask("createJob", jobs, { body: prompt }));
  await ask("getJob", `${jobs}/${id}`);
  await ask("sendMessage", `${jobs}/${id}/message`, { body: prompt, headers: { "idempotency-key": "m" } });
  await ask("createJob", jobs, { body: prompt, headers: { "idempotency-key": "c" } });
  await ask("createJob", jobs, { body: { ...prompt, attachments: [makeAttachment()] } });

  for (const [operation, path] of [
    ["createJob", jobs],
    ["ask", "/v2/agent/docs/ask"],
    ["sendMessage", `${jobs}/${id}/message`],
    ["askInJob", `${jobs}/${id}/ask`],
    ["addressReviews", `${jobs}/${id}/address`],
    ["updateBranch", `${jobs}/${id}/update`],
  ] as const) {
    await ask(operation, path, {
      body: ["addressReviews", "updateBranch"].includes(operation) ? { requester: {} } : {},
    });
    await ask(operation, path, { body: prompt, key: null });
    await ask(operation, path, { body: prompt, key: subject.keys["api"] ?? "" });
    await ask(operation, path, { body: "x".repeat(MAX_BODY_BYTES + 1) });
    await ask(operation, path, { body: prompt, headers: { "content-type": "text/plain" } });
    const used = operation === "createJob" ? "m" : "c";
    await ask(operation, path, { body: prompt, headers: { "idempotency-key": used } });
    await ask(operation, path, { body: prompt });
  }
  subject.db.exec("UPDATE jobs SET pr_link = 'https://git.example/acme/docs/pull/1'");
  const address = () => ask("addressReviews", `${jobs}/${id}/address`, { body: {} });
  const update = () => ask("updateBranch", `${jobs}/${id}/update`, { body: {} });
  // The limit of messages is reached, then it isn't anymore, and then there is such a turn already.
  await address();
  subject.db.exec("UPDATE turns SET accepted_at = 0");
  await address();
  await address();
  await update();
  subject.db.exec("UPDATE turns SET accepted_at = 0");
  await update();
  await update();
  subject.db.exec("UPDATE turns SET accepted_at = 0");
  await ask("ask", "/v2/agent/docs/ask", { body: prompt });
  await ask("askInJob", `${jobs}/${id}/ask`, { body: prompt });
  const api = { key: subject.keys["api"] ?? "" };
  const { input } = await subject.runner.runOf(id);
  const asked = input.ask({
    text: "Which page?",
    choices: [{ id: "a", label: "Install" }],
    allowsText: false,
  });
  const question = subject.store.questions.shown(id)[0]?.id ?? "";
  const addresses = {
    createJob: jobs,
    sendMessage: `${jobs}/${id}/message`,
    ask: "/v2/agent/docs/ask",
    askInJob: `${jobs}/${id}/ask`,
    addressReviews: `${jobs}/${id}/address`,
    updateBranch: `${jobs}/${id}/update`,
    getJob: `${jobs}/${id}`,
    listJobs: jobs,
    changes: `/v2/agent/docs/changes?after=${subject.store.changes.toCursor(0)}`,
    answerQuestion: `${jobs}/${id}/answer`,
    cancelTurn: `${jobs}/${id}/turn/1/cancel`,
    archiveJob: `${jobs}/${id}/archive`,
    readDiff: `${jobs}/${id}/diff`,
    closePullRequest: `${jobs}/${id}/pull-request/close`,
  };
  const reads = ["getJob", "listJobs", "readDiff", "changes"];
  for (const [operation, path] of Object.entries(addresses)) {
    const body = reads.includes(operation) ? {} : { body: prompt };
    await ask(operation, path, { ...body, key: null });
    await ask(operation, path, { ...body, ...api });
    const missing = path.includes(id) ? path.replace(id, "nope") : path.replace("docs", "nope");
    const answer = operation === "answerQuestion" ? { body: { questionId: "q", choice: "a" } } : body;
    await ask(operation, missing, answer);
    await ask(operation, path, { method: "PUT", body: {} });
  }
  await ask("listJobs", `${jobs}?status=completed&limit=1`);
  await ask("listJobs", `${jobs}?limit=0`);
  subject.readDiff = async () => ({ files: [], fileCount: 0, diff: "", isCut: false });
  await ask("readDiff", addresses.readDiff);
  subject.readDiff = () => Promise.reject(new Error("busy"));
  await ask("readDiff", addresses.readDiff);
  await ask("changes", addresses.changes);
  await ask("changes", `${addresses.changes}&wait=x`);
  await ask("changes", "/v2/agent/docs/changes?after=x");
  const leaving = new AbortController();
  const last = subject.store.changes.toCursor();
  const path = `/v2/agent/docs/changes?after=${last}&wait=60`;
  const { url, keys } = subject;
  const headers = { authorization: `Bearer ${keys["docs"]}` };
  const waiting = Array.from({ length: 33 }, () =>
    fetch(`${url}${path}`, { headers, signal: leaving.signal }),
  );
  // That is one more than may wait, so one is answered.
  await Promise.race(waiting);
  await ask("changes", path);
  leaving.abort();
  await Promise.allSettled(waiting);
  await ask("answerQuestion", addresses.answerQuestion, { body: { questionId: question } });
  await ask("answerQuestion", addresses.answerQuestion, { body: "x".repeat(MAX_BODY_BYTES + 1) });
  await ask("answerQuestion", addresses.answerQuestion, {
    body: {},
    headers: { "content-type": "text/plain" },
  });
  const answered = { body: { questionId: question, choice: "a" } };
  await ask("answerQuestion", addresses.answerQuestion, answered);
  expect(await asked).toEqual({ choice: "a" });
  subject.db.exec("UPDATE questions SET answer = 'null'");
  await ask("answerQuestion", addresses.answerQuestion, answered);
  await ask("getJob", addresses.getJob, { headers: { "docs-agent-capabilities": "docs-agent/1" } });
  for (const operation of ["cancelTurn", "archiveJob", "closePullRequest"] as const) {
    await ask(operation, addresses[operation], { body: "x".repeat(MAX_BODY_BYTES + 1) });
    const invalid = { method: "POST", body: Buffer.from([0xff]) };
    await ask(operation, addresses[operation], invalid);
    await ask(operation, addresses[operation], { method: "POST" });
  }
  subject.notePullRequest(1);
  await ask("closePullRequest", addresses.closePullRequest, { method: "POST" });
  subject.closePull = async () => "changed";
  await ask("closePullRequest", addresses.closePullRequest, { method: "POST" });
  subject.closePull = () => Promise.reject(new Error("busy"));
  await ask("closePullRequest", addresses.closePullRequest, { method: "POST" });
  for (const path of ["/healthz", "/readyz"]) {
    const operation = path === "/healthz" ? "health" : "readiness";
    await ask(operation, path, { key: null });
    await ask(operation, path, { key: null, method: "PUT", body: {} });
  }
  subject.db.exec("DROP TABLE turns; DROP TABLE probe");
  for (const [operation, path] of Object.entries(addresses)) {
    const body = reads.includes(operation) ? {} : { body: prompt };
    await ask(operation, path, operation === "answerQuestion" ? answered : body);
  }
  await ask("readiness", "/readyz", { key: null });

  const documented = Object.values(document.paths)
    .flatMap((operations) => Object.values(operations))
    .map(({ operationId, responses }) => [
      operationId,
      Object.keys(responses)
        .filter((status) => !BY_NODE.includes(status))
        .toSorted(),
    ]);
  const exercised = [...seen].map(([operationId, statuses]) => [operationId, [...statuses].toSorted()]);
  expect(Object.fromEntries(exercised)).toEqual(Object.fromEntries(documented));
});

it("documents that every operation may answer 431 to long headers", async () => {
  await using subject = await ServiceUnderTest.start();
  const { paths } = await documentOf(subject);
  for (const operations of Object.values(paths)) {
    for (const { responses } of Object.values(operations)) expect(responses).toHaveProperty("431");
  }
  const { status } = await subject.ask("/healthz", { headers: { "x-long": "x".repeat(17_000) } });
  expect(status).toBe(431);
});

it("documents the bounds of attachments as they are", async () => {
  await using subject = await ServiceUnderTest.start();
  const { components } = await documentOf(subject);
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: "document", components });
  const text = (data: string) => ({ name: "a.txt", mediaType: "text/plain", data });
  for (const [attachments, isValid] of [
    [[], true],
    [[makeAttachment()], true],
    [Array(5).fill(makeAttachment()), true],
    [Array(6).fill(makeAttachment()), false],
    [[makeAttachment("")], false],
    [[makeAttachment("x".repeat(200))], true],
    [[makeAttachment("x".repeat(201))], false],
    [[makeAttachment("a.svg", "image/svg+xml")], false],
    [[text("")], false],
    [[text("QUFB".repeat(1_398_101))], true],
    [[text("QUFB".repeat(1_398_103))], false],
    [[{ name: "a", mediaType: "text/plain" }], false],
    [null, false],
  ] as const) {
    const body = { prompt: "Fix", attachments };
    for (const schema of ["CreateJobRequest", "MessageRequest"]) {
      expect(ajv.validate({ $ref: `document#/components/schemas/${schema}` }, body)).toBe(isValid);
    }
    const { status } = await subject.ask("/v2/agent/docs/job", { body });
    expect(status).toBe(isValid ? 201 : 400);
  }
});

it("documents that keys are wanted where they are, and where the service is reached", async () => {
  await using subject = await ServiceUnderTest.start({
    config: { publicBaseUrl: "https://jobs.example.com" },
  });
  const { paths, servers, components } = await documentOf(subject);
  expect(servers).toEqual([{ url: "https://jobs.example.com" }]);
  expect(components.securitySchemes).toMatchObject({ adminKey: { type: "http", scheme: "bearer" } });
  for (const [path, operations] of Object.entries(paths)) {
    for (const { security } of Object.values(operations)) {
      expect(security).toEqual(path.startsWith("/v2/") ? [{ adminKey: [] }] : []);
    }
  }
});

it("documents with every answer what is offered beyond the contract", async () => {
  await using subject = await ServiceUnderTest.start();
  const { paths, components } = await documentOf(subject);
  const responses = Object.values(paths)
    .flatMap((operations) => Object.values(operations))
    .flatMap((operation) => Object.entries(operation.responses))
    .flatMap(([status, response]) => (BY_NODE.includes(status) ? [] : [response]));
  expect(responses.length).toBeGreaterThan(20);
  for (const { headers } of responses) {
    expect(headers?.["Docs-Agent-Capabilities"]).toEqual({ $ref: "#/components/headers/Level" });
  }
  expect(components.headers["Level"]).toMatchObject({
    required: true,
    description: expect.stringContaining("`docs-agent/1`") as string,
  });
});

it("describes every property, and names what is in more than one place", async () => {
  await using subject = await ServiceUnderTest.start();
  const { components } = await documentOf(subject);
  for (const name of ["JobStatus", "Turn", "Usage", "PullRequest", "Question"]) {
    expect(Object.keys(components.schemas)).toContain(name);
  }
  const bare: string[] = [];
  function look(at: string, schema: unknown): void {
    if (typeof schema !== "object" || schema === null) return;
    if ("properties" in schema && typeof schema.properties === "object" && schema.properties !== null) {
      for (const [name, property] of Object.entries(schema.properties) as [string, object][]) {
        const isNamed = "$ref" in property || JSON.stringify(property).includes('"$ref"');
        if (!("description" in property) && !isNamed) bare.push(`${at}.${name}`);
      }
    }
    for (const [name, inner] of Object.entries(schema)) look(`${at}.${name}`, inner);
  }
  look("", components.schemas);
  expect(bare).toEqual([]);
});
