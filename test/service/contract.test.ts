import { describeJobServiceClient, type JobServiceFixture } from "../contracts/job-service-client.ts";
import { ServiceUnderTest } from "../support/service-under-test.ts";
import { resultNamed } from "../support/scripted-runner.ts";

describeJobServiceClient("HttpJobService with the self-hosted service", async () => {
  const subject = await ServiceUnderTest.start();
  return {
    client: subject.client(),
    clientWithWrongKey: subject.client("docs", "docsagent_another-key"),
    clientOfUnknownProject: subject.client("no-such-project", subject.keys["docs"]),
    endTurn: async (jobId, how) => {
      const turns = subject.store.turns(jobId).length;
      const { end } = await subject.runner.runOf(jobId, turns);
      end(resultNamed(jobId, how));
    },
    promptsOf: async (jobId) => subject.store.turns(jobId).map(({ prompt }) => prompt),
    [Symbol.asyncDispose]: () => subject[Symbol.asyncDispose](),
  } satisfies JobServiceFixture;
});
