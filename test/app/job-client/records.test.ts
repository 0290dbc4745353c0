import { ContractJob } from "../../../src/shared/contract/job.ts";
import { describe, expect, it } from "vitest";
import { CreateJobRequest, ErrorBody } from "../../../src/shared/contract/request.ts";
import type { JobServiceAnswer } from "../../../src/app/rules/ports/job-service.ts";
import { faultOf, openClient } from "../../support/job-service-client.ts";
import { startJobServiceSide } from "../../../world/job-service/side.ts";

const RECORD = {
  id: "job_1",
  status: "completed",
  source: { repository: "acme/docs", ref: "main" },
  model: "model-1",
  prLink: "https://git.example/acme/docs/pull/7",
  createdAt: "2026-11-21T10:00:00Z",
  archivedAt: null,
};
const JOB = {
  id: "job_1",
  status: "completed",
  repository: "acme/docs",
  ref: "main",
  model: "model-1",
  prLink: "https://git.example/acme/docs/pull/7",
};

async function reading(record: unknown, status = 200): Promise<JobServiceAnswer> {
  await using side = await startJobServiceSide();
  await using client = openClient({ baseUrl: side.baseUrl });
  const body = JSON.stringify(record);
  side.faults.add({ op: "*", fault: { kind: "body", status, body, contentType: "application/json" } });
  return client.getJob("job_1");
}

describe("a job record", () => {
  it("is read in full", async () => {
    expect(await reading(RECORD)).toEqual({
      ok: true,
      job: JOB,
      report: { turns: null, questions: null, pullRequest: null },
      honorsIdempotencyKeys: false,
      level: 0,
    });
  });

  it.each([
    ["unknown fields", { ...RECORD, summary: "x", source: { ...RECORD.source, host: "git.example" } }, JOB],
    ["no archivedAt", { ...RECORD, archivedAt: undefined }, JOB],
    ["an archivedAt", { ...RECORD, archivedAt: "2026-11-21T10:00:00Z" }, JOB],
    ["no createdAt", { ...RECORD, createdAt: undefined }, JOB],
    ["times in another form", { ...RECORD, createdAt: 1_763_719_200, archivedAt: 0 }, JOB],
    ["a null ref", { ...RECORD, source: { repository: "acme/docs", ref: null } }, { ...JOB, ref: null }],
    ["no ref", { ...RECORD, source: { repository: "acme/docs" } }, { ...JOB, ref: null }],
    ["an empty source", { ...RECORD, source: {} }, { ...JOB, repository: null, ref: null }],
    ["a null source", { ...RECORD, source: null }, { ...JOB, repository: null, ref: null }],
    ["no source", { ...RECORD, source: undefined }, { ...JOB, repository: null, ref: null }],
    ["no model", { ...RECORD, model: undefined }, { ...JOB, model: null }],
    ["a null model", { ...RECORD, model: null }, { ...JOB, model: null }],
    ["no prLink", { ...RECORD, prLink: undefined }, { ...JOB, prLink: null }],
    ["a null prLink", { ...RECORD, prLink: null }, { ...JOB, prLink: null }],
    ["an empty prLink", { ...RECORD, prLink: "" }, { ...JOB, prLink: null }],
    ["a prLink that is no URL", { ...RECORD, prLink: "soon" }, { ...JOB, prLink: "soon" }],
  ])("is read with %s", async (_name, record, job) => {
    expect(await reading(record)).toMatchObject({ ok: true, job });
  });

  it.each(["active", "completed", "archived", "failed"])("is read with status %s", async (status) => {
    expect(await reading({ id: "job_1", status })).toMatchObject({ ok: true, job: { status } });
  });

  it.each([200, 201, 202])("is read from an answer with %i", async (status) => {
    expect(await reading(RECORD, status)).toMatchObject({ ok: true });
  });

  it.each([
    ["no id", { ...RECORD, id: undefined }, "id"],
    ["a null id", { ...RECORD, id: null }, "id"],
    ["an empty id", { ...RECORD, id: "" }, "id"],
    ["a number for an id", { ...RECORD, id: 7 }, "id"],
    ["no status", { ...RECORD, status: undefined }, "status"],
    ["an unknown status", { ...RECORD, status: "queued" }, "status"],
    ["a status in capitals", { ...RECORD, status: "ACTIVE" }, "status"],
    ["a prLink that is no text", { ...RECORD, prLink: 7 }, "prLink"],
    ["a prLink that is an object", { ...RECORD, prLink: { url: "https://git.example" } }, "prLink"],
    ["a model that is no text", { ...RECORD, model: {} }, "model"],
    ["a source that is no object", { ...RECORD, source: "acme/docs" }, "source"],
    ["null for a record", null, "the record"],
    ["an array for a record", [RECORD], "the record"],
    ["a text for a record", "job_1", "the record"],
    ["an error for a record", { error: "Not really" }, "id"],
  ])("breaks the contract with %s", async (_name, record, where) => {
    const fault = faultOf(await reading(record));
    expect(fault).toMatchObject({ kind: "contract", status: 200 });
    expect(fault.message).toContain(where);
  });
});

describe("the schemas of the sending side", () => {
  it("take a full record and no other", () => {
    expect(ContractJob.parse(RECORD)).toEqual(RECORD);
    expect(ContractJob.safeParse({ ...RECORD, createdAt: "yesterday" }).success).toBe(false);
    expect(ContractJob.safeParse({ ...RECORD, status: "queued" }).success).toBe(false);
    expect(ContractJob.safeParse({ ...RECORD, source: undefined }).success).toBe(false);
  });

  it("take a prompt of at least one character", () => {
    const schema = CreateJobRequest;
    expect(schema.safeParse({ prompt: "x", model: "any" }).success).toBe(true);
    expect(schema.safeParse({ prompt: "" }).success).toBe(false);
    expect(schema.safeParse({ prompt: 7 }).success).toBe(false);
    expect(schema.safeParse({}).success).toBe(false);
    expect(schema.safeParse(null).success).toBe(false);
  });

  it("take an error text", () => {
    expect(ErrorBody.safeParse({ error: "no" }).success).toBe(true);
    expect(ErrorBody.safeParse({ message: "no" }).success).toBe(false);
  });
});
