import { describeJobServiceServer, type JobServiceServer } from "../contracts/job-service-server.ts";
import { ServiceUnderTest } from "../support/job-service.ts";
import { resultNamed } from "../support/scripted-runner.ts";

describeJobServiceServer("the self-hosted service", async () => {
  const subject = await ServiceUnderTest.start();
  const ended = new Map<string, number>();
  return {
    baseUrl: subject.url,
    projectId: "docs",
    key: subject.keys["docs"] ?? "",
    other: { projectId: "api", key: subject.keys["api"] ?? "" },
    honoursIdempotencyKeys: true,
    endTurn: async (jobId, how) => {
      const turn = (ended.get(jobId) ?? 0) + 1;
      ended.set(jobId, turn);
      (await subject.runner.runOf(jobId, turn)).end(resultNamed(jobId, how));
    },
    archive: async (jobId) => {
      subject.store.archive(jobId, subject.clock.now());
    },
    [Symbol.asyncDispose]: () => subject[Symbol.asyncDispose](),
  } satisfies JobServiceServer;
});
