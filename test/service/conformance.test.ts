import { describeJobServiceBeyond } from "../contracts/job-service-beyond.ts";
import type { JobServiceServer } from "../contracts/job-service-requests.ts";
import { describeJobServiceServer } from "../contracts/job-service-server.ts";
import { makeServiceProject } from "../support/service-project.ts";
import { makeAskingAgent, ServiceUnderTest } from "../support/service-under-test.ts";
import { resultNamed } from "../support/scripted-runner.ts";

describeJobServiceServer("the self-hosted service", startService);
describeJobServiceBeyond("the self-hosted service", startService);

async function startService(): Promise<JobServiceServer> {
  const projects = [makeServiceProject({ agent: makeAskingAgent() }), makeServiceProject({ id: "api" })];
  const subject = await ServiceUnderTest.start({ projects });
  const ended = new Map<string, number>();
  return {
    baseUrl: subject.url,
    projectId: "docs",
    key: subject.keys["docs"] ?? "",
    other: { projectId: "api", key: subject.keys["api"] ?? "" },
    honorsIdempotencyKeys: true,
    endTurn: async (jobId, how) => {
      const turn = (ended.get(jobId) ?? 0) + 1;
      ended.set(jobId, turn);
      (await subject.runner.runOf(jobId, turn)).end(resultNamed(jobId, how));
    },
    archive: async (jobId) => {
      subject.store.archive(jobId, subject.clock.now());
    },
    ask: async (jobId, question) => {
      const { input } = await subject.runner.runOf(jobId, (ended.get(jobId) ?? 0) + 1);
      return await input.ask(question);
    },
    [Symbol.asyncDispose]: () => subject[Symbol.asyncDispose](),
  };
}
