import type { FullJob } from "../../src/shared/contract/job.ts";
import type { Sent } from "../../src/shared/contract/reading.ts";
import { expect, it } from "vitest";
import { TransientRunError } from "../../src/service/base/run-error.ts";
import type { CloseResult } from "../../src/service/runner/runner.ts";
import { ServiceUnderTest } from "../support/service-under-test.ts";
import { resultNamed } from "../support/scripted-runner.ts";

const JOBS = "/v2/agent/docs/job";

/** A job whose turn has ended, with pull request 7. */
async function ended(subject: ServiceUnderTest): Promise<string> {
  const { id } = (await (await subject.ask(JOBS, { body: { prompt: "Fix" } })).json()) as Sent<
    typeof FullJob
  >;
  (await subject.runner.runOf(id)).end(resultNamed(id, "pull-request"));
  await subject.service.queue.idle();
  subject.notePullRequest(7);
  return id;
}

it.each<[CloseResult | "busy", number, string]>([
  ["closed", 200, ""],
  ["merged", 409, "The pull request was merged."],
  ["changed", 409, "The pull request changes something again."],
  ["missing", 404, "The job has no pull request."],
  ["busy", 503, "Try again in 5 s."],
])("answers what became of a pull request that is to be closed: %s", async (became, status, error) => {
  await using subject = await ServiceUnderTest.start();
  const id = await ended(subject);
  const asked: object[] = [];
  subject.closePull = async ({ project, jobId, number }) => {
    asked.push({ project: project.id, jobId, number });
    if (became === "busy") throw new TransientRunError("The code host can't be reached.");
    return became;
  };
  const answer = await subject.ask(`${JOBS}/${id}/pull-request/close`, { method: "POST" });
  expect(answer.status).toBe(status);
  expect(await answer.json()).toMatchObject(error === "" ? { id, turns: [{ number: 1 }] } : { error });
  expect(asked).toEqual([{ project: "docs", jobId: id, number: 7 }]);
});

it("closes none while a turn of the job has yet to end, and none that a job doesn't have", async () => {
  await using subject = await ServiceUnderTest.start();
  const close = (job: string) => subject.ask(`${JOBS}/${job}/pull-request/close`, { method: "POST" });
  const id = await ended(subject);
  const other = (await (await subject.ask(JOBS, { body: { prompt: "Fix" } })).json()) as Sent<typeof FullJob>;
  expect([(await close(other.id)).status, (await close("nothing")).status]).toEqual([404, 404]);
  await subject.ask(`${JOBS}/${id}/message`, { body: { prompt: "More" } });
  const answer = await close(id);
  expect(answer.status).toBe(409);
  expect(await answer.json()).toEqual({ error: "The agent is working on a follow-up." });
});
