import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { levelOfClient, levelOfService, saidByService } from "../../../src/shared/contract/level.ts";
import { ReadBeyondContract } from "../../../src/app/rules/known-job.ts";
import { createHttpJobService } from "../../../src/app/job-client/http-job-service.ts";
import type { JobQuestion } from "../../../src/shared/contract/question.ts";
import type { JobTurn } from "../../../src/shared/contract/turn.ts";
import type { Sent } from "../../../src/shared/contract/reading.ts";
import { startRawServer } from "../../../world/job-service/raw.ts";

const RECORD = {
  id: "job-1",
  status: "active",
  source: { repository: "acme/docs", ref: "main" },
  model: "opencode",
  prLink: null,
  createdAt: "2026-11-22T03:00:00Z",
  archivedAt: null,
};
const TURN: Sent<typeof JobTurn> = {
  number: 1,
  status: "ended",
  outcome: "pull-request",
  reason: null,
  summary: "Corrected the install page",
  step: "Edit docs/install.md",
  plan: [{ text: "Edit", status: "completed" }],
  usage: { inputTokens: 10, outputTokens: 2, cachedInputTokens: 4, calls: 1, costUsd: null },
  pullRequest: {
    url: "https://git.example/acme/docs/pull/7",
    number: 7,
    title: "Corrected the install page",
    state: "open",
    files: 3,
    additions: 12,
    deletions: 4,
    headRef: "docs-agent/job-1",
    headSha: "0123456789abcdef0123456789abcdef01234567",
  },
  branch: null,
  acceptedAt: "2026-11-22T03:00:00Z",
  startedAt: "2026-11-22T03:00:01Z",
  endedAt: null,
  leftOut: ["src/index.js"],
  answer: null,
  checks: [{ name: "links", result: "failed", findings: ["docs/install.md: no such page: setup.md"] }],
  claims: { total: 5, verified: 4 },
  context: [{ name: "cli", commit: "89abcdef0123456789abcdef0123456789abcdef" }],
  notes: ["The reviewer sam couldn't be asked."],
};
const QUESTION: Sent<typeof JobQuestion> = {
  id: "q-1",
  turn: 1,
  text: "Which page?",
  choices: [{ id: "a", label: "Install" }],
  allowsText: true,
  askedAt: "2026-11-22T03:00:02Z",
  answeredAt: null,
};

async function clientOf(json: unknown, said: string | null = "docs-agent/1, something-new") {
  const server = await startRawServer((_, response) => {
    const headers = said === null ? {} : { "docs-agent-capabilities": said };
    response.writeHead(200, { "content-type": "application/json", ...headers }).end(JSON.stringify(json));
  });
  const options = { baseUrl: server.baseUrl, projectId: "docs", apiKey: "key", timeoutMs: 5000 };
  const client = createHttpJobService(options);
  return {
    client,
    requests: server.requests,
    async [Symbol.asyncDispose]() {
      await client.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

describe("what a job service tells beyond the contract", () => {
  it("is asked for, and read, with the times in milliseconds", async () => {
    await using side = await clientOf({ ...RECORD, turns: [TURN], questions: [QUESTION] });
    const answer = await side.client.getJob("job-1");
    expect(side.requests[0]?.headers["docs-agent-capabilities"]).toBe(
      "docs-agent/3, docs-agent/2, docs-agent/1, turns, questions, pull-request",
    );
    const at = (seconds: number) => Date.UTC(2026, 10, 22, 3, 0, seconds);
    // Nothing shows these.
    const { acceptedAt: _, leftOut: _leftOut, ...turn } = TURN;
    const { askedAt: _askedAt, ...question } = QUESTION;
    expect(answer).toMatchObject({
      ok: true,
      level: 1,
      report: {
        turns: [{ ...turn, startedAt: at(1), endedAt: null }],
        questions: [{ ...question, answeredAt: null }],
      },
    });
  });

  it("is null where a service knows only the contract", async () => {
    await using side = await clientOf(RECORD, null);
    expect(await side.client.getJob("job-1")).toMatchObject({
      ok: true,
      level: 0,
      report: { turns: null, questions: null },
    });
  });

  it("is told by an older service without answers, checks, sources and notes", async () => {
    const { answer: _, checks: _checks, claims, context, notes, ...older } = TURN;
    expect([claims, context, notes].every((part) => part !== undefined)).toBe(true);
    await using side = await clientOf({ ...RECORD, turns: [older] });
    const none = { answer: null, checks: [], claims: null, context: [], notes: [] };
    expect(await side.client.getJob("job-1")).toMatchObject({ ok: true, report: { turns: [none] } });
  });

  it("never makes a record unreadable: what cannot be read is left out", async () => {
    const turns = [
      { ...TURN, outcome: "teleported", usage: "much", plan: [{ text: 1 }, TURN.plan[0]] },
      { ...TURN, status: "dreaming" },
      null,
    ];
    await using side = await clientOf({ ...RECORD, turns, questions: "none" });
    const answer = await side.client.getJob("job-1");
    expect(answer).toMatchObject({
      ok: true,
      report: { turns: [{ number: 1, outcome: null, usage: null, plan: TURN.plan }], questions: null },
    });
    expect(answer.ok && answer.report?.turns).toHaveLength(1);
  });

  it("reads any JSON at all", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (turns, questions) => {
        expect(ReadBeyondContract.safeParse({ turns, questions }).success).toBe(true);
      }),
    );
  });

  it("is bounded, whatever the service sends", async () => {
    const long = "x".repeat(8_000);
    const turn = {
      ...TURN,
      summary: long,
      reason: long,
      step: long,
      plan: [{ text: long, status: "pending" }],
    };
    await using side = await clientOf({ ...RECORD, turns: Array.from({ length: 30 }, () => turn) });
    const answer = await side.client.getJob("job-1");
    if (!answer.ok) throw new Error(answer.fault.message);
    const [first, ...others] = answer.report?.turns ?? [];
    expect(others).toHaveLength(19);
    expect([first?.summary?.length, first?.reason?.length, first?.step?.length]).toEqual([4000, 1000, 300]);
    expect(first?.plan[0]?.text).toHaveLength(300);
  });
});

it("cancels a turn and answers a question", async () => {
  await using side = await clientOf(RECORD);
  expect(await side.client.cancelTurn("job-1", 2)).toMatchObject({ ok: true });
  await side.client.answerQuestion("job-1", "q-1", { choice: "a" });
  await side.client.answerQuestion("job-1", "q-1", { text: "Both" });
  expect(side.requests.map(({ method, url, body }) => [method, url, body])).toEqual([
    ["POST", "/v2/agent/docs/job/job-1/turn/2/cancel", ""],
    ["POST", "/v2/agent/docs/job/job-1/answer", JSON.stringify({ questionId: "q-1", choice: "a" })],
    ["POST", "/v2/agent/docs/job/job-1/answer", JSON.stringify({ questionId: "q-1", text: "Both" })],
  ]);
});

const [, ...OLD] = saidByService(1);

it.each([
  [undefined, 0],
  ["", 0],
  ["docs-agent/1", 1],
  [" something-new,, DOCS-Agent/1 ", 1],
  [["something-new", "docs-agent/1"], 1],
  ["docs-agent/2, docs-agent/1", 2],
  // A later level includes these.
  ["docs-agent/3", 3],
  ["docs-agent/4", 3],
  ["docs-agent/0", 0],
  ["docs-agent", 0],
  ["docs-agent/1.5", 0],
  ["my-docs-agent/1", 0],
  // The version before named each part. All of them are the level, fewer are the contract.
  [OLD.join(), 1],
  [OLD.toReversed(), 1],
  [OLD.slice(1).join(), 0],
  ["idempotency-key", 0],
] as const)("a service that says %j speaks level %i", (said, level) => {
  expect(levelOfService(said)).toBe(level);
});

it.each([
  [undefined, 0],
  ["something-new", 0],
  ["docs-agent/1", 1],
  ["docs-agent/2, turns", 2],
  // As clients of the version before say it, or some of it.
  ["turns, questions, pull-request", 1],
  ["TURNS", 1],
  ["list", 0],
] as const)("a client that says %j reads level %i", (said, level) => {
  expect(levelOfClient(said)).toBe(level);
});
