// @module-tag all

import { expect, it } from "vitest";
import { ServiceUnderTest } from "../support/service-under-test.ts";
import { resultNamed } from "../support/scripted-runner.ts";

const JOBS = "/v2/agent/docs/job";
const HOUR_MS = 60 * 60_000;

type Record = { id: string; status: string };

async function post(subject: ServiceUnderTest, path: string, prompt: string, key: string, project = "docs") {
  const sent = { body: { prompt }, headers: { "idempotency-key": key }, key: subject.keys[project] ?? null };
  const response = await subject.ask(path, sent);
  return { status: response.status, json: (await response.json()) as Record & { error?: string } };
}

it("creates one job for 50 requests at once with one key", async () => {
  await using subject = await ServiceUnderTest.start();
  const answers = await Promise.all(Array.from({ length: 50 }, () => post(subject, JOBS, "Fix", "one")));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
  expect(new Set(answers.map(({ json }) => json.id)).size).toBe(1);
  expect(subject.store.jobs({ projectId: "docs", status: null, limit: 100 })).toHaveLength(1);
});

it("adds one turn for 50 messages at once with one key", async () => {
  await using subject = await ServiceUnderTest.start();
  const { id } = (await post(subject, JOBS, "Fix", "one")).json;
  const path = `${JOBS}/${id}/message`;
  const answers = await Promise.all(Array.from({ length: 50 }, () => post(subject, path, "More", "two")));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(subject.store.turns(id).map(({ prompt }) => prompt)).toEqual(["Fix", "More"]);
});

it("gives the first answer again after the job has ended, and after a restart", async () => {
  await using subject = await ServiceUnderTest.start();
  const first = await post(subject, JOBS, "Fix", "one");
  (await subject.runner.run(1)).end(resultNamed(first.json.id, "no-changes"));
  await subject.service.queue.idle();
  await subject.stop();
  await subject.start();
  subject.clock.advance(24 * HOUR_MS);
  expect(await post(subject, JOBS, "Fix", "one")).toEqual(first);
  expect(subject.runner.runs).toHaveLength(1);
});

it("gives the first answer to a message again although the job was archived since", async () => {
  await using subject = await ServiceUnderTest.start();
  const { id } = (await post(subject, JOBS, "Fix", "one")).json;
  const first = await post(subject, `${JOBS}/${id}/message`, "More", "two");
  subject.store.archive(id, subject.clock.now());
  expect(await post(subject, `${JOBS}/${id}/message`, "More", "two")).toEqual(first);
  expect((await post(subject, `${JOBS}/${id}/message`, "More", "three")).status).toBe(400);
});

it("refuses a key that was used for another request, with 422", async () => {
  await using subject = await ServiceUnderTest.start();
  const { id } = (await post(subject, JOBS, "Fix", "one")).json;
  const other = (await post(subject, JOBS, "Fix", "two")).json;
  expect(await post(subject, JOBS, "Fix it", "one")).toMatchObject({
    status: 422,
    json: { error: expect.stringContaining("Idempotency-Key") as string },
  });
  expect((await post(subject, `${JOBS}/${id}/message`, "Fix", "one")).status).toBe(422);
  await post(subject, `${JOBS}/${id}/message`, "More", "three");
  expect((await post(subject, `${JOBS}/${other.id}/message`, "More", "three")).status).toBe(422);
});

it("keeps the keys of projects apart", async () => {
  await using subject = await ServiceUnderTest.start();
  const one = await post(subject, JOBS, "Fix", "one");
  const two = await post(subject, "/v2/agent/api/job", "Other", "one", "api");
  expect(two.status).toBe(201);
  expect(two.json.id).not.toBe(one.json.id);
});

it("does not hold a refusal against the key", async () => {
  await using subject = await ServiceUnderTest.start();
  expect((await post(subject, JOBS, "", "one")).status).toBe(400);
  expect((await post(subject, JOBS, "Fix", "one")).status).toBe(201);
});

it("forgets a key after a week", async () => {
  await using subject = await ServiceUnderTest.start();
  const first = await post(subject, JOBS, "Fix", "one");
  subject.clock.advance(8 * 24 * HOUR_MS);
  (await subject.runner.run(1)).end(resultNamed(first.json.id, "no-changes"));
  await subject.service.queue.idle();
  const second = await post(subject, JOBS, "Fix", "one");
  expect(second.status).toBe(201);
  expect(second.json.id).not.toBe(first.json.id);
});

it.each([["a b"], ["x".repeat(256)], ["ü"]])("refuses %j as a key, naming the header", async (key) => {
  await using subject = await ServiceUnderTest.start();
  expect(await post(subject, JOBS, "Fix", key)).toMatchObject({
    status: 400,
    json: { error: expect.stringContaining("idempotency-key") as string },
  });
});
