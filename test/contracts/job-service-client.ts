import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { JobService, JobServiceAnswer } from "../../src/app/rules/ports/job-service.ts";
import type { KnownJob } from "../../src/app/rules/known-job.ts";
import type { JobStatus } from "../../src/shared/contract/job.ts";

/** A job service of the contract and its client, for {@link describeJobServiceClient}. */
export type JobServiceFixture = AsyncDisposable & {
  client: JobService;
  /** A client of the same service, with a key that the service doesn't know. */
  clientWithWrongKey: JobService;
  /** A client of the same service for a project that the service doesn't know, with a valid key. */
  clientOfUnknownProject: JobService;
  /** Makes the job's current turn end this way, at once or soon. */
  endTurn(jobId: string, how: "pull-request" | "no-changes" | "failed"): Promise<void>;
  /** Resolves to the prompts that reached the job, in order. */
  promptsOf(jobId: string): Promise<string[]>;
};

const TURN_TIMEOUT_MS = 15_000;

/**
 * Tests a client and a service of the contract together, without faults. Runs against any service.
 */
export function describeJobServiceClient(name: string, start: () => Promise<JobServiceFixture>): void {
  describe(`job service contract: ${name}`, () => {
    it("creates an active job without a pull request", async () => {
      await using fixture = await start();
      const job = jobOf(await fixture.client.createJob("Fix the install page", "key-1"));
      expect(job.id).not.toBe("");
      expect(job).toMatchObject({ status: "active", prLink: null });
    });

    it("creates a job of its own for each request", async () => {
      await using fixture = await start();
      const one = jobOf(await fixture.client.createJob("Fix the install page", "key-1"));
      const two = jobOf(await fixture.client.createJob("Fix the install page", "key-2"));
      expect(one.id).not.toBe(two.id);
    });

    it("gives a repeated request its first answer, if it says that it honors idempotency keys", async () => {
      await using fixture = await start();
      const { client } = fixture;
      const first = await client.createJob("Fix the install page", "key-1");
      if (!first.honorsIdempotencyKeys) return;
      const { id } = jobOf(first);
      expect(jobOf(await client.createJob("Fix the install page", "key-1"))).toEqual(jobOf(first));
      const followed = await client.sendMessage(id, "Mention Windows too", "key-2");
      expect(jobOf(await client.sendMessage(id, "Mention Windows too", "key-2"))).toEqual(jobOf(followed));
      expect(await fixture.promptsOf(id)).toEqual(["Fix the install page", "Mention Windows too"]);
    });

    it("reads the job it created", async () => {
      await using fixture = await start();
      const created = jobOf(await fixture.client.createJob("Fix the install page", "key-1"));
      expect(jobOf(await fixture.client.getJob(created.id)).id).toBe(created.id);
    });

    it("carries the prompt unchanged", async () => {
      await using fixture = await start();
      const prompt = `"Zürich" 🦊 <!channel> & \`code\`\n\ttab \u2028 ${"long ".repeat(2000)}end`;
      const { id } = jobOf(await fixture.client.createJob(prompt, "key-1"));
      expect(await fixture.promptsOf(id)).toEqual([prompt]);
    });

    it("shows the pull request once the job has completed", async () => {
      await using fixture = await start();
      const { id } = jobOf(await fixture.client.createJob("Fix the install page", "key-1"));
      await fixture.endTurn(id, "pull-request");
      const job = await settled(fixture.client, id, "completed");
      expect(job.prLink).toMatch(/^https?:\/\/[^/]+\/[^/]+\/[^/]+\/pull\/\d+$/);
    });

    it("shows a completed job without a pull request when nothing needed changing", async () => {
      await using fixture = await start();
      const { id } = jobOf(await fixture.client.createJob("Change nothing", "key-1"));
      await fixture.endTurn(id, "no-changes");
      expect((await settled(fixture.client, id, "completed")).prLink).toBeNull();
    });

    it("shows a failed job", async () => {
      await using fixture = await start();
      const { id } = jobOf(await fixture.client.createJob("Break", "key-1"));
      await fixture.endTurn(id, "failed");
      expect((await settled(fixture.client, id, "failed")).prLink).toBeNull();
    });

    it("gives a job a follow-up prompt, which it works on until it ends again", async () => {
      await using fixture = await start();
      const { id } = jobOf(await fixture.client.createJob("Fix the install page", "key-1"));
      await fixture.endTurn(id, "pull-request");
      const first = await settled(fixture.client, id, "completed");

      const followed = jobOf(await fixture.client.sendMessage(id, "Mention Windows too", "key-2"));
      expect(followed.id).toBe(id);
      expect(await fixture.promptsOf(id)).toEqual(["Fix the install page", "Mention Windows too"]);

      await fixture.endTurn(id, "pull-request");
      const second = await settled(fixture.client, id, "completed");
      expect(second.prLink).toBe(first.prLink);
    });

    it("says that a job is missing", async () => {
      await using fixture = await start();
      const { client } = fixture;
      expect(await client.getJob("no-such-job")).toMatchObject(missing);
      expect(await client.sendMessage("no-such-job", "Go on", "key-1")).toMatchObject(missing);
    });

    it("says that a project is missing", async () => {
      await using fixture = await start();
      expect(await fixture.clientOfUnknownProject.createJob("Fix", "key-1")).toMatchObject(missing);
    });

    it("refuses a key that it does not know", async () => {
      await using fixture = await start();
      const { id } = jobOf(await fixture.client.createJob("Fix the install page", "key-1"));
      const refused = { ok: false, fault: { kind: "rejected", status: 401 } };
      expect(await fixture.clientWithWrongKey.createJob("Fix", "key-2")).toMatchObject(refused);
      expect(await fixture.clientWithWrongKey.getJob(id)).toMatchObject(refused);
      expect(await fixture.clientWithWrongKey.sendMessage(id, "Go on", "key-3")).toMatchObject(refused);
    });

    it("refuses an empty prompt and says why", async () => {
      await using fixture = await start();
      const { id } = jobOf(await fixture.client.createJob("Fix the install page", "key-1"));
      const refused = {
        ok: false,
        fault: { kind: "rejected", status: 400, said: expect.stringMatching(/./) as string },
      };
      expect(await fixture.client.createJob("", "key-2")).toMatchObject(refused);
      expect(await fixture.client.sendMessage(id, "", "key-3")).toMatchObject(refused);
    });
  });
}

const missing = { ok: false, fault: { kind: "missing", status: 404 } };

function jobOf(answer: JobServiceAnswer): KnownJob {
  if (!answer.ok) throw new Error(`The job service gave a fault: ${JSON.stringify(answer.fault)}`);
  return answer.job;
}

/** Reads the job until it has this status. */
async function settled(client: JobService, jobId: string, status: JobStatus): Promise<KnownJob> {
  const giveUpAt = performance.now() + TURN_TIMEOUT_MS;
  for (;;) {
    const job = jobOf(await client.getJob(jobId));
    if (job.status === status) return job;
    if (performance.now() > giveUpAt) throw new Error(`Job ${jobId} is ${job.status}, not ${status}`);
    await sleep(20);
  }
}
