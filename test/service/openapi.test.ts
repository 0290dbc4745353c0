import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, it } from "vitest";
import { z } from "zod";
import { MAX_BODY_BYTES } from "../../src/service/routes.ts";
import { makeServiceProject, type Ask, ServiceUnderTest } from "../support/job-service.ts";

const Documented = z.object({
  openapi: z.literal("3.1.0"),
  servers: z.array(z.object({ url: z.string() })).optional(),
  components: z.object({ schemas: z.record(z.string(), z.unknown()), securitySchemes: z.unknown() }),
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
            headers: z.record(z.string(), z.unknown()).optional(),
            content: z.object({ "application/json": z.object({ schema: z.object({ $ref: z.string() }) }) }),
          }),
        ),
      }),
    ),
  ),
});

async function documentOf(subject: ServiceUnderTest): Promise<z.infer<typeof Documented>> {
  return Documented.parse(await (await subject.ask("/openapi.json", { key: null })).json());
}

it("answers every documented operation with every documented status, as documented, and with no other", async () => {
  const limits = { createsPerHour: 3, messagesPerHour: 1, jobsAtOnce: 2, queued: 100 };
  await using subject = await ServiceUnderTest.start({
    projects: [makeServiceProject({ limits }), makeServiceProject({ id: "api" })],
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
    if (documented === undefined)
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
  await ask("createJob", jobs, { body: prompt });

  for (const [operation, path] of [
    ["createJob", jobs],
    ["sendMessage", `${jobs}/${id}/message`],
  ] as const) {
    await ask(operation, path, { body: {} });
    await ask(operation, path, { body: prompt, key: null });
    await ask(operation, path, { body: prompt, key: subject.keys["api"] ?? "" });
    await ask(operation, path, { body: "x".repeat(MAX_BODY_BYTES + 1) });
    await ask(operation, path, { body: prompt, headers: { "content-type": "text/plain" } });
    const used = operation === "createJob" ? "m" : "c";
    await ask(operation, path, { body: prompt, headers: { "idempotency-key": used } });
    await ask(operation, path, { body: prompt });
  }
  await ask("createJob", "/v2/agent/nope/job", { body: prompt });
  await ask("sendMessage", `${jobs}/nope/message`, { body: prompt });
  await ask("getJob", `${jobs}/${id}`, { key: null });
  await ask("getJob", `${jobs}/${id}`, { key: subject.keys["api"] ?? "" });
  await ask("getJob", `${jobs}/nope`);
  await ask("health", "/healthz", { key: null });
  await ask("readiness", "/readyz", { key: null });
  subject.db.exec("DROP TABLE turns; DROP TABLE probe");
  await ask("createJob", jobs, { body: prompt });
  await ask("getJob", `${jobs}/${id}`);
  await ask("sendMessage", `${jobs}/${id}/message`, { body: prompt });
  await ask("readiness", "/readyz", { key: null });

  const documented = Object.values(document.paths)
    .flatMap((operations) => Object.values(operations))
    .map(({ operationId, responses }) => [operationId, Object.keys(responses).toSorted()]);
  const exercised = [...seen].map(([operationId, statuses]) => [operationId, [...statuses].toSorted()]);
  expect(Object.fromEntries(exercised)).toEqual(Object.fromEntries(documented));
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
      expect(security).toEqual(path.startsWith("/v2/") ? [{ adminKey: [] }] : undefined);
    }
  }
});

it("documents with every answer that idempotency keys are honored", async () => {
  await using subject = await ServiceUnderTest.start();
  const { paths } = await documentOf(subject);
  const responses = Object.values(paths)
    .flatMap((operations) => Object.values(operations))
    .flatMap((operation) => Object.values(operation.responses));
  expect(responses.length).toBeGreaterThan(20);
  for (const { headers } of responses) {
    expect(headers?.["Docs-Agent-Capabilities"]).toMatchObject({
      required: true,
      description: expect.stringContaining("`idempotency-key`") as string,
    });
  }
});
