import type { FullJob } from "../../src/shared/contract/job.ts";
import type { Sent } from "../../src/shared/contract/reading.ts";
import { expect, it, vi } from "vitest";
import { TransientRunError } from "../../src/service/base/run-error.ts";
import type { Runner } from "../../src/service/runner/runner.ts";
import { ServiceUnderTest } from "../support/service-under-test.ts";
import { PATIENT } from "../support/patient.ts";

const JOBS = "/v2/agent/docs/job";
const DIFF = {
  files: [{ path: "docs/a.md", status: "changed" as const, additions: 1, deletions: null }],
  fileCount: 1,
  diff: "diff --git a/docs/a.md b/docs/a.md\n+more",
  isCut: false,
};

async function create(subject: ServiceUnderTest): Promise<string> {
  const response = await subject.ask(JOBS, { body: { prompt: "Fix" } });
  return ((await response.json()) as Sent<typeof FullJob>).id;
}

it("tells what a job changes, with the end of its newest pull request, to the project's key alone", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  const asked: object[] = [];
  subject.readDiff = async ({ project, jobId, head }) => {
    asked.push({ project: project.id, jobId, head });
    return DIFF;
  };
  expect(await (await subject.ask(`${JOBS}/${id}/diff`)).json()).toEqual(DIFF);
  const headSha = "c".repeat(40);
  subject.db
    .prepare("UPDATE turns SET pull_request = ? WHERE job_id = ?")
    .run(JSON.stringify({ headSha }), id);
  expect(await subject.client().readDiff(id)).toMatchObject({ ok: true, diff: DIFF });
  expect(asked).toEqual([
    { project: "docs", jobId: id, head: null },
    { project: "docs", jobId: id, head: headSha },
  ]);
  const key = subject.keys["api"] ?? "";
  const statuses = [
    await subject.ask(`${JOBS}/${id}/diff`, { key: null }),
    await subject.ask(`${JOBS}/${id}/diff`, { key }),
    await subject.ask(`/v2/agent/api/job/${id}/diff`, { key }),
    await subject.ask(`${JOBS}/nothing/diff`),
  ].map(({ status }) => status);
  expect(statuses).toEqual([401, 403, 404, 404]);
  expect(asked).toHaveLength(2);
});

it("answers 404 where there is nothing to show, and 503 where it can't be read now", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  const client = subject.client();
  expect(await client.readDiff(id)).toMatchObject({ ok: false, fault: { kind: "missing" } });
  subject.readDiff = async () => {
    throw new TransientRunError("The git server can't be reached.", { details: ["git fetch: secret"] });
  };
  const answer = await client.readDiff(id);
  expect(answer).toMatchObject({ fault: { kind: "not-created", status: 503, retryAfterMs: 5000 } });
  expect(JSON.stringify(answer)).not.toContain("secret");
});

it("reads four changes of a project at once, and no more, which leave room for other projects", async () => {
  await using subject = await ServiceUnderTest.start();
  const id = await create(subject);
  const waiting: (() => void)[] = [];
  const readDiff: Runner["readDiff"] = () => new Promise((resolve) => waiting.push(() => resolve(DIFF)));
  subject.readDiff = readDiff;
  const answers = Array.from({ length: 5 }, () => subject.ask(`${JOBS}/${id}/diff`));
  expect((await Promise.race(answers)).status).toBe(503);
  expect(waiting).toHaveLength(4);
  const key = subject.keys["api"] ?? "";
  const created = await subject.ask("/v2/agent/api/job", { key, body: { prompt: "Fix" } });
  const { id: other } = (await created.json()) as Sent<typeof FullJob>;
  const answer = subject.ask(`/v2/agent/api/job/${other}/diff`, { key });
  await vi.waitUntil(() => waiting.length === 5, PATIENT);
  for (const end of waiting) end();
  expect((await answer).status).toBe(200);
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  expect(statuses.toSorted()).toEqual([200, 200, 200, 200, 503]);
});
