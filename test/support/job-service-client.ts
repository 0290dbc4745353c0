import { createHttpJobService, type HttpJobService } from "../../src/app/job-client/http-job-service.ts";
import type { HttpJobServiceOptions } from "../../src/app/job-client/calls.ts";
import type { JobServiceAnswer, JobServiceFault } from "../../src/app/rules/ports/job-service.ts";
import type { JobServiceOp } from "../../world/job-service/wire.ts";
import { DEFAULT_API_KEY, DEFAULT_PROJECT_ID } from "../../world/job-service/side.ts";

/**
 * Opens the real client with the test service's project and key. It is closed at the end of the
 * test.
 */
export function openClient(
  options: Partial<HttpJobServiceOptions> & { baseUrl: string },
): HttpJobService & AsyncDisposable {
  const client = createHttpJobService({
    projectId: DEFAULT_PROJECT_ID,
    apiKey: DEFAULT_API_KEY,
    timeoutMs: 5_000,
    ...options,
  });
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

/** Returns the fault of an answer that must have one. */
export function faultOf(answer: JobServiceAnswer): JobServiceFault {
  if (answer.ok) throw new Error(`Expected a fault, got job ${answer.job.id}`);
  return answer.fault;
}

/** A call of each kind. */
export const OPERATIONS: [JobServiceOp, (client: HttpJobService) => Promise<JobServiceAnswer>][] = [
  ["create", (client) => client.createJob("Fix it", "turn-1")],
  ["get", (client) => client.getJob("job_1")],
  ["message", (client) => client.sendMessage("job_1", "Go on", "turn-2")],
];
