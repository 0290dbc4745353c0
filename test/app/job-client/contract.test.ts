import type { HttpJobService } from "../../../src/app/job-client/http-job-service.ts";
import { createHttpJobService } from "../../../src/app/job-client/http-job-service.ts";
import { describeJobServiceClient, type JobServiceFixture } from "../../contracts/job-service-client.ts";
import { DEFAULT_API_KEY, DEFAULT_PROJECT_ID, startJobServiceSide } from "../../../world/job-service/side.ts";

const OUTCOMES = {
  "pull-request": { status: "completed", prLink: "https://git.example/acme/docs/pull/7" },
  "no-changes": { status: "completed" },
  failed: { status: "failed" },
} as const;

for (const idempotencyKeys of [false, true]) {
  const which = idempotencyKeys ? "honoring idempotency keys" : "with the contract alone";
  describeJobServiceClient(`HttpJobService with the test suite's own service, ${which}`, () =>
    startFixture(idempotencyKeys),
  );
}

async function startFixture(idempotencyKeys: boolean): Promise<JobServiceFixture> {
  const side = await startJobServiceSide({ idempotencyKeys });
  const clients: HttpJobService[] = [];
  function clientFor(projectId: string, apiKey: string): HttpJobService {
    const client = createHttpJobService({ baseUrl: side.baseUrl, projectId, apiKey, timeoutMs: 5_000 });
    clients.push(client);
    return client;
  }
  return {
    client: clientFor(DEFAULT_PROJECT_ID, DEFAULT_API_KEY),
    clientWithWrongKey: clientFor(DEFAULT_PROJECT_ID, "mint_another-key"),
    clientOfUnknownProject: clientFor("no-such-project", DEFAULT_API_KEY),
    endTurn: async (jobId, how) => side.finish(jobId, OUTCOMES[how]),
    promptsOf: async (jobId) => side.jobs.get(jobId)?.prompts ?? [],
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client.close()));
      await side[Symbol.asyncDispose]();
    },
  };
}
