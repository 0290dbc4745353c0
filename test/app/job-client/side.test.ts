// @module-tag all

import { ContractJob } from "../../../src/shared/contract/job.ts";
import { describe, expect, it } from "vitest";
import { openClient } from "../../support/job-service-client.ts";
import { startJobServiceSide } from "../../../world/job-service/side.ts";

const PR_LINK = "https://git.example/acme/docs/pull/7";

describe("the test suite's own job service", () => {
  it("sends records that keep the contract", async () => {
    await using side = await startJobServiceSide({ now: () => Date.parse("2026-11-21T10:00:00.123Z") });
    await using client = openClient({ baseUrl: side.baseUrl });
    await client.createJob("Fix it", "turn-1");
    side.finish("job_1", { status: "archived" });
    await client.getJob("job_1");
    expect(side.gets.map((get) => ContractJob.parse(get.record))).toMatchObject([
      { id: "job_1", createdAt: "2026-11-21T10:00:00Z", archivedAt: "2026-11-21T10:00:00Z" },
    ]);
  });

  it("remembers creates and messages with their idempotency keys, and calls it refused only as calls", async () => {
    await using side = await startJobServiceSide({
      projects: { a: { apiKey: "k_a" }, b: { apiKey: "k_b" } },
    });
    await using client = openClient({ baseUrl: side.baseUrl, projectId: "a", apiKey: "k_a" });
    await using stranger = openClient({ baseUrl: side.baseUrl, projectId: "b", apiKey: "k_a" });
    await client.createJob("Fix it", "turn-1");
    await client.sendMessage("job_1", "Go on", "turn-2");
    expect(await stranger.createJob("Fix it", "turn-3")).toMatchObject({ ok: false, fault: { status: 403 } });
    expect(side.creates).toEqual([
      { projectId: "a", jobId: "job_1", prompt: "Fix it", idempotencyKey: "turn-1" },
    ]);
    expect(side.messages).toEqual([
      { projectId: "a", jobId: "job_1", prompt: "Go on", idempotencyKey: "turn-2" },
    ]);
    expect(side.calls.map((call) => call.authorized)).toEqual([true, true, false]);
  });

  it("completes turns after polls, with stale reads after a message", async () => {
    await using side = await startJobServiceSide();
    await using client = openClient({ baseUrl: side.baseUrl });
    side.script.completeAfterPolls(2, { prLink: PR_LINK });
    side.script.staleReadsAfterMessage(1);
    async function poll(): Promise<string> {
      const answer = await client.getJob("job_1");
      return answer.ok ? `${answer.job.status} ${answer.job.prLink}` : answer.fault.kind;
    }
    await client.createJob("Fix it", "turn-1");
    expect([await poll(), await poll(), await poll()]).toEqual([
      "active null",
      `completed ${PR_LINK}`,
      `completed ${PR_LINK}`,
    ]);
    await client.sendMessage("job_1", "Go on", "turn-2");
    expect([await poll(), await poll(), await poll()]).toEqual([
      `completed ${PR_LINK}`,
      `active ${PR_LINK}`,
      `completed ${PR_LINK}`,
    ]);
  });

  it("lets a test shape new jobs and forget them", async () => {
    await using side = await startJobServiceSide();
    await using client = openClient({ baseUrl: side.baseUrl });
    side.script.onCreate((job) => (job.status = "failed"));
    expect(await client.createJob("Fix it", "turn-1")).toMatchObject({ ok: true, job: { status: "failed" } });
    side.forget("job_1");
    expect(await client.getJob("job_1")).toMatchObject({ ok: false, fault: { kind: "missing" } });
    expect(() => side.finish("job_1", { status: "failed" })).toThrow("job_1");
  });

  it("uses faults up, in the order they were added", async () => {
    await using side = await startJobServiceSide();
    await using client = openClient({ baseUrl: side.baseUrl });
    side.faults.add({ op: "get", fault: { kind: "status", status: 500 } });
    side.faults.add({ op: "create", times: 2, fault: { kind: "status", status: 503 } });
    side.faults.add({ op: "*", times: 1, fault: { kind: "status", status: 429 } });
    const statuses: (number | undefined)[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      const answer = await client.createJob("Fix it", `turn-${turn}`);
      statuses.push(answer.ok ? 201 : answer.fault.status);
    }
    expect(statuses).toEqual([503, 503, 429, 201]);
    side.faults.clear();
    expect(await client.getJob("job_1")).toMatchObject({ ok: true });
  });

  it("calls the hook before the effect and between effect and answer", async () => {
    await using side = await startJobServiceSide();
    await using client = openClient({ baseUrl: side.baseUrl });
    const seen: string[] = [];
    side.onCall((phase, call) => void seen.push(`${phase} ${call.op} ${call.prompt}: ${side.jobs.size}`));
    await client.createJob("Fix it", "turn-1");
    side.onCall(null);
    await client.getJob("job_1");
    expect(seen).toEqual(["before create Fix it: 0", "after create Fix it: 1"]);
  });

  it("keeps its port and its jobs while it is down", async () => {
    await using side = await startJobServiceSide();
    await using client = openClient({ baseUrl: side.baseUrl });
    await client.createJob("Fix it", "turn-1");
    const { baseUrl } = side;
    await side.down();
    await side.down();
    await side.up();
    await side.up();
    expect(side.baseUrl).toBe(baseUrl);
    expect(await client.getJob("job_1")).toMatchObject({ ok: true });
  });

  it("survives a caller that goes away in the middle, with the effect done", async () => {
    await using side = await startJobServiceSide();
    await using hasty = openClient({ baseUrl: side.baseUrl, timeoutMs: 100 });
    await using client = openClient({ baseUrl: side.baseUrl });
    side.faults.add({ op: "create", times: 1, fault: { kind: "slow", ms: 300 } });
    expect(await hasty.createJob("Fix it", "turn-1")).toMatchObject({
      ok: false,
      fault: { kind: "unknown" },
    });
    await expect.poll(() => side.creates.length).toBe(1);
    expect(await client.getJob("job_1")).toMatchObject({ ok: true });
  });
});
