// @module-tag all

import type { JobChanges, JobList } from "../../src/shared/contract/feed.ts";
import type { FullJob } from "../../src/shared/contract/job.ts";
import type { Sent } from "../../src/shared/contract/reading.ts";
import { type AxiosResponse, OpenAPIClientAxios, type OpenAPIClient } from "openapi-client-axios";
import { expect, it } from "vitest";
import { makeAttachment } from "../support/attachments.ts";
import { makeServiceProject } from "../support/service-project.ts";
import { makeAskingAgent, ServiceUnderTest } from "../support/service-under-test.ts";
import { resultNamed } from "../support/scripted-runner.ts";

const READER = { "docs-agent-capabilities": "docs-agent/1" };

/** A client that knows nothing of the service but its document: addresses, parameters and where these go. */
async function generate(subject: ServiceUnderTest): Promise<{ client: OpenAPIClient; operations: string[] }> {
  const definition = await (await subject.ask("/openapi.json", { key: null })).json();
  const api = new OpenAPIClientAxios({
    definition: definition as never,
    withServer: { url: subject.url },
    axiosConfigDefaults: { headers: { authorization: `Bearer ${subject.keys["docs"]}` } },
  });
  const client = await api.init();
  return { client, operations: api.getOperations().map(({ operationId }) => operationId ?? "") };
}

it("is enough for a generated client to use every operation", async () => {
  await using subject = await ServiceUnderTest.start({
    projects: [makeServiceProject({ agent: makeAskingAgent() })],
  });
  const { client, operations } = await generate(subject);
  const used = new Set<string>();
  async function call<T>(operation: string, parameters: object, body?: object, config?: object): Promise<T> {
    used.add(operation);
    const method = client[operation] as (...args: unknown[]) => Promise<AxiosResponse<T>>;
    const { status, data } = await method(parameters, body, config);
    expect(status).toBeLessThan(300);
    return data;
  }
  const project = { projectId: "docs" };
  const { id } = await call<Sent<typeof FullJob>>(
    "createJob",
    { ...project, "idempotency-key": "one" },
    { prompt: "Fix" },
  );
  expect(
    await call<Sent<typeof FullJob>>(
      "createJob",
      { ...project, "idempotency-key": "one" },
      { prompt: "Fix" },
    ),
  ).toMatchObject({ id });
  const job = { ...project, id };

  const asked = (await subject.runner.run(1)).input.ask({ text: "Why?", choices: [], allowsText: true });
  const { questions } = await call<Sent<typeof FullJob>>("getJob", { ...job, ...READER });
  await call("answerQuestion", job, { questionId: questions?.[0]?.id, text: "Because" });
  expect(await asked).toEqual({ text: "Because" });

  await call("sendMessage", job, { prompt: "More", attachments: [makeAttachment()] });
  await call("cancelTurn", { ...job, number: 2 });
  (await subject.runner.run(1)).end(resultNamed(id, "pull-request"));
  await subject.service.queue.idle();
  const { turns } = await call<Sent<typeof FullJob>>("getJob", { ...job, ...READER });
  expect(turns?.map(({ outcome }) => outcome)).toEqual(["pull-request", "cancelled"]);

  subject.readDiff = async () => ({ files: [], fileCount: 0, diff: "+more", isCut: false });
  expect(await call("readDiff", job)).toMatchObject({ diff: "+more" });

  subject.notePullRequest(1);
  expect(await call("closePullRequest", job)).toMatchObject({ id });

  await call("addressReviews", job, {});
  await call("updateBranch", job, {});
  await call("cancelTurn", { ...job, number: 3 });

  expect(await call("ask", project, { prompt: "Why?" })).toMatchObject({ status: "active" });
  const inJob = await call<Sent<typeof FullJob>>("askInJob", { ...job, ...READER }, { prompt: "And why?" });
  expect(inJob.turns?.at(-1)).toMatchObject({ kind: "ask", status: "waiting" });

  const { next } = await call<Sent<typeof JobChanges>>("changes", project);
  await call("archiveJob", job);
  const changed = await call<Sent<typeof JobChanges>>("changes", { ...project, after: next, wait: 30 });
  expect(changed.jobs.map(({ status }) => status)).toEqual(["archived"]);
  const { jobs } = await call<Sent<typeof JobList>>("listJobs", { ...project, status: "archived", limit: 5 });
  expect(jobs.map((listed) => listed.id)).toEqual([id]);
  await call("health", {});
  await call("readiness", {});
  expect([...used].toSorted()).toEqual(operations.toSorted());
});
