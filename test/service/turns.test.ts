import type { FullJob } from "../../src/shared/contract/job.ts";
import type { Sent } from "../../src/shared/contract/reading.ts";
import { expect, it } from "vitest";
import { MAX_CHECKS, MAX_FINDINGS } from "../../src/shared/contract/checks.ts";
import type { Usage } from "../../src/shared/contract/turn.ts";
import type { RunTurnResult } from "../../src/service/runner/runner.ts";
import { ServiceUnderTest } from "../support/service-under-test.ts";
import { resultNamed, SUMMARY } from "../support/scripted-runner.ts";

const JOBS = "/v2/agent/docs/job";
const READS = { "docs-agent-capabilities": "docs-agent/1" };
const PULL_REQUEST = {
  url: "https://git.example/acme/docs/pull/7",
  number: 7,
  title: "Correct the install page",
  state: "open",
  files: 3,
  additions: 12,
  deletions: 4,
  headRef: "docs-agent/job-1",
  headSha: "0123456789abcdef0123456789abcdef01234567",
} as const;
const USAGE: Usage = {
  inputTokens: 100,
  outputTokens: 20,
  cachedInputTokens: 50,
  calls: 2,
  costUsd: 0.5,
};

async function send(
  subject: ServiceUnderTest,
  path: string,
  prompt: string,
  headers = {},
): Promise<Sent<typeof FullJob>> {
  const response = await subject.ask(path, { body: { prompt }, headers: { ...READS, ...headers } });
  expect(response.status).toBeLessThan(300);
  return (await response.json()) as Sent<typeof FullJob>;
}

async function read(subject: ServiceUnderTest, id: string): Promise<Sent<typeof FullJob>> {
  return (await (await subject.ask(`${JOBS}/${id}`, { headers: READS })).json()) as Sent<typeof FullJob>;
}

it("tells a turn from its start to its pull request", async () => {
  await using subject = await ServiceUnderTest.start();
  const created = await send(subject, JOBS, "Fix");
  const empty = { outcome: null, reason: null, summary: null, step: null, plan: [], usage: null };
  expect(created).toMatchObject({
    turns: [{ ...empty, number: 1, status: "waiting", pullRequest: null, branch: null, leftOut: [] }],
    questions: [],
  });

  const { input, end } = await subject.runner.run(1);
  const plan = [{ text: "Find the page", status: "in-progress" as const }];
  input.report({ step: "Read docs/install.md" });
  input.report({ plan });
  input.report({ usage: USAGE });
  input.report({
    usage: { inputTokens: null, outputTokens: null, cachedInputTokens: null, calls: null, costUsd: 9 },
  });
  subject.clock.advance(1000);
  const running = { number: 1, status: "running", step: "Read docs/install.md", plan, usage: USAGE };
  expect((await read(subject, created.id)).turns).toMatchObject([running]);

  const result = { summary: SUMMARY, leftOut: ["src/index.js"], pullRequest: PULL_REQUEST };
  end({ kind: "pull-request", prLink: PULL_REQUEST.url, ...result });
  await subject.service.queue.idle();
  expect((await read(subject, created.id)).turns).toMatchObject([
    {
      ...running,
      step: null,
      status: "ended",
      outcome: "pull-request",
      endedAt: "2026-01-05T09:00:01Z",
      ...result,
    },
  ]);
});

it("tells each follow-up which pull request is the job's, and when it was asked for", async () => {
  await using subject = await ServiceUnderTest.start();
  const { id } = await send(subject, JOBS, "Fix");
  const first = await subject.runner.run(1);
  expect(first.input).toMatchObject({ pullRequest: null, acceptedAt: subject.clock.now() });
  const told = { summary: SUMMARY, leftOut: [], pullRequest: PULL_REQUEST };
  first.end({ kind: "pull-request", prLink: PULL_REQUEST.url, ...told });
  await subject.service.queue.idle();
  await send(subject, `${JOBS}/${id}/message`, "And this");
  const second = await subject.runner.run(2);
  expect(second.input.pullRequest).toBe(7);
  // A turn that leaves none changes nothing about that.
  second.end({ kind: "no-changes", summary: null });
  await subject.service.queue.idle();
  subject.clock.advance(5000);
  await send(subject, `${JOBS}/${id}/message`, "And that");
  const third = await subject.runner.run(3);
  expect(third.input).toMatchObject({ pullRequest: 7, acceptedAt: subject.clock.now() });
  third.end({ kind: "no-changes", summary: null });
});

it("logs a turn's end with its pull request and how long it took", async () => {
  await using subject = await ServiceUnderTest.start();
  const { id } = await send(subject, JOBS, "Fix");
  const { end } = await subject.runner.run(1);
  subject.clock.advance(90_000);
  end({ kind: "pull-request", prLink: PULL_REQUEST.url, summary: SUMMARY, leftOut: [] });
  await subject.service.queue.idle();
  const line = subject.logger.lines.find(({ message }) => message === "turn ended");
  const { url } = PULL_REQUEST;
  expect(line?.fields).toMatchObject({ project: "docs", job_id: id, turn: 1, pull_request: url, ms: 90_000 });
});

it("says that a turn starts again after a stop, which is no attempt of its own", async () => {
  await using subject = await ServiceUnderTest.start();
  const { id } = await send(subject, JOBS, "Fix");
  await subject.runner.run(1);
  await subject.stop();
  await subject.start();
  await subject.runner.run(2);
  subject.clock.advance(1000);
  expect(subject.logger.text("info")).toMatch(/turn starts [\s\S]*turn starts again .*"attempt":1/);
  expect(subject.store.turns(id)[0]?.progress).toEqual(["starts again"]);
});

it("stops the agent of a turn that the command line cancels, and logs it", async () => {
  await using subject = await ServiceUnderTest.start();
  const { id } = await send(subject, JOBS, "Fix");
  const { input } = await subject.runner.run(1);
  expect(subject.service.runCommand({ name: "cancel-job", id }).text).toBe(`Canceled 1 turn of job ${id}.\n`);
  expect(input.signal.aborted).toBe(true);
  const said = `turn was ended: it stops ${JSON.stringify({ job_id: id, turn: 1, outcome: "cancelled" })}`;
  expect(
    subject.logger
      .text("info")
      .split("\n")
      .filter((line) => line === said),
  ).toHaveLength(1);
});

const ENDS: [RunTurnResult, string, object][] = [
  [
    { kind: "no-changes", summary: "I can't find that page.", reason: "It was refused.", leftOut: ["a.js"] },
    "completed",
    { summary: "I can't find that page.", reason: "It was refused.", leftOut: ["a.js"] },
  ],
  [
    { kind: "no-changes", summary: "Yes.", leftOut: [], notes: ["cli couldn't be read."] },
    "completed",
    { summary: "Yes.", answer: "Yes.", checks: [], claims: null, notes: ["cli couldn't be read."] },
  ],
  [
    {
      kind: "branch",
      branch: "docs-agent/job-1",
      summary: "Done",
      leftOut: [],
      checks: [{ name: "links", result: "failed", findings: ["a.md: no b.md"] }],
      claims: { total: 5, verified: 4 },
      context: [{ name: "cli", commit: "0123abc" }],
    },
    "completed",
    {
      branch: "docs-agent/job-1",
      summary: "Done",
      answer: null,
      checks: [{ name: "links", result: "failed", findings: ["a.md: no b.md"] }],
      claims: { total: 5, verified: 4 },
      context: [{ name: "cli", commit: "0123abc" }],
    },
  ],
  [
    { kind: "failed", reason: "The budget is used up.", cause: "budget" },
    "failed",
    { reason: "The budget is used up.", cause: "budget" },
  ],
];

it.each(ENDS)("says how and why a turn ended: $kind", async (result, status, told) => {
  await using subject = await ServiceUnderTest.start();
  const { id } = await send(subject, JOBS, "Fix");
  (await subject.runner.run(1)).end(result);
  await subject.service.queue.idle();
  expect(await read(subject, id)).toMatchObject({
    status,
    prLink: null,
    turns: [{ outcome: result.kind, ...told }],
  });
});

it("shows the operator what is known of a change", async () => {
  await using subject = await ServiceUnderTest.start();
  const { id } = await send(subject, JOBS, "Fix");
  const checks = [
    { name: "links", result: "failed" as const, findings: ["a.md: no \u001b[31mb.md"] },
    { name: "vale", result: "not-checked" as const, findings: [] },
  ];
  const known = { checks, claims: { total: 5, verified: 4 }, context: [{ name: "cli", commit: "0123abc" }] };
  const notes = ["The label docs couldn't be set."];
  const branch = "docs-agent/job-1";
  (await subject.runner.run(1)).end({ kind: "branch", branch, summary: null, leftOut: [], ...known, notes });
  await subject.service.queue.idle();
  await send(subject, `${JOBS}/${id}/message`, "Is it?");
  (await subject.runner.run(2)).end({ kind: "no-changes", summary: "Yes." });
  await subject.service.queue.idle();
  const { text } = subject.service.runCommand({ name: "show-job", id, isRepeated: false });
  expect(text).toContain(
    [
      "  checks:\n    links: failed\n      a.md: no \uFFFD[31mb.md\n    vale: not checked",
      "  sources:\n    4 of 5 found",
      "  context:\n    cli at 0123abc",
      "  notes:\n    The label docs couldn't be set.\n",
    ].join("\n"),
  );
  expect(text).toContain("  answer:\n    Yes.\n");
  expect(text).not.toContain("summary:");
});

it("leaves what a failure says to the operator out of what people read", async () => {
  await using subject = await ServiceUnderTest.start();
  const { id } = await send(subject, JOBS, "Fix");
  const details = ["Set DOCS_MODEL_KEY to a valid key (models: claude).", "last words: Error"];
  const reason = "The model provider refused the service's key.";
  (await subject.runner.run(1)).end({ kind: "failed", reason, details });
  await subject.service.queue.idle();
  const told = await read(subject, id);
  expect(told.turns).toMatchObject([{ outcome: "failed", reason }]);
  expect(JSON.stringify(told)).not.toContain("DOCS_MODEL_KEY");
  // What jobs show shows.
  expect(subject.store.turns(id)[0]?.progress).toEqual(details);
  expect(subject.logger.text("error")).toContain(JSON.stringify({ reason, details }).slice(1, -1));
});

it("tells a client that asks for nothing the contract's fields and no others", async () => {
  await using subject = await ServiceUnderTest.start();
  const { id } = await send(subject, JOBS, "Fix");
  const fields = ["archivedAt", "createdAt", "id", "model", "prLink", "source", "status"];
  for (const answer of [
    await subject.ask(JOBS, { body: { prompt: "Fix" } }),
    await subject.ask(`${JOBS}/${id}/message`, { body: { prompt: "More" } }),
    await subject.ask(`${JOBS}/${id}`),
    await subject.ask(`${JOBS}/${id}`, { headers: { "docs-agent-capabilities": "something-else" } }),
  ]) {
    expect(Object.keys((await answer.json()) as object).toSorted()).toEqual(fields);
  }
  const all = [...fields, "turns", "questions", "pullRequest"].toSorted();
  for (const said of ["Docs-Agent/1", "TURNS"]) {
    const answer = await subject.ask(`${JOBS}/${id}`, { headers: { "docs-agent-capabilities": said } });
    expect(Object.keys((await answer.json()) as object).toSorted()).toEqual(all);
  }
});

it("ends the turns of an answer with the one that the request began, also when it is repeated", async () => {
  await using subject = await ServiceUnderTest.start();
  const { id } = await send(subject, JOBS, "one", { "idempotency-key": "1" });
  const path = `${JOBS}/${id}/message`;
  const numbers = ({ turns }: Sent<typeof FullJob>) => turns?.map(({ number }) => number);
  expect(numbers(await send(subject, path, "two", { "idempotency-key": "2" }))).toEqual([1, 2]);
  expect(numbers(await send(subject, path, "three", { "idempotency-key": "3" }))).toEqual([1, 2, 3]);
  expect(numbers(await send(subject, path, "two", { "idempotency-key": "2" }))).toEqual([1, 2]);
  expect(numbers(await send(subject, JOBS, "one", { "idempotency-key": "1" }))).toEqual([1]);
});

it("tells the newest turns of a long job, within a client's limits", { tags: "nightly" }, async () => {
  await using subject = await ServiceUnderTest.start();
  const { id } = await send(subject, JOBS, "0");
  const long = "é".repeat(10_000);
  const leftOut = Array.from({ length: 60 }, (_, n) => `${n}${long}`);
  for (let n = 1; n <= 24; n += 1) {
    const run = await subject.runner.run(n);
    if (n < 24) await send(subject, `${JOBS}/${id}/message`, String(n));
    const findings = Array.from({ length: MAX_FINDINGS }, () => long);
    const checks = Array.from({ length: MAX_CHECKS }, () => ({
      name: "é".repeat(40),
      result: "failed" as const,
      findings,
    }));
    const notes = Array.from({ length: 20 }, () => long);
    const kind = n < 24 ? ("branch" as const) : ("no-changes" as const);
    const said = { summary: long, leftOut, branch: "docs-agent/job-1" };
    run.end({ ...said, kind, checks, notes });
  }
  await subject.service.queue.idle();
  const response = await subject.ask(`${JOBS}/${id}`, { headers: READS });
  const text = await response.text();
  expect(Buffer.byteLength(text)).toBeLessThan(1_048_576);
  const { turns } = JSON.parse(text) as Sent<typeof FullJob>;
  expect(turns?.map(({ number }) => number)).toEqual(Array.from({ length: 20 }, (_, n) => n + 5));
  expect(turns?.[0]?.leftOut.at(-1)).toBe("… and 40 more");
  expect(turns?.[0]?.checks).toHaveLength(MAX_CHECKS);
});

it("adds up what the attempts of a turn used, and begins their steps anew", async () => {
  await using subject = await ServiceUnderTest.start();
  const { id } = await send(subject, JOBS, "Fix");
  const first = await subject.runner.run(1);
  first.input.report({ usage: USAGE });
  first.input.report({ step: "Read" });
  first.fail(new Error("the git server answered 503"));
  await subject.service.queue.idle();
  expect((await read(subject, id)).turns).toMatchObject([
    { status: "waiting", reason: "the git server answered 503" },
  ]);
  subject.clock.advance(15_000);
  const second = await subject.runner.run(2);
  second.input.report({ usage: USAGE });
  second.end(resultNamed(id, "no-changes"));
  await subject.service.queue.idle();
  const usage = { inputTokens: 200, outputTokens: 40, cachedInputTokens: 100, calls: 4, costUsd: 1 };
  expect((await read(subject, id)).turns).toMatchObject([
    { outcome: "no-changes", reason: null, step: null, usage },
  ]);
});

it("counts in /readyz the turns that run, not those that wait for room", async () => {
  await using subject = await ServiceUnderTest.start({ jobsAtOnce: 1 });
  const tasks = async () => (await subject.ask("/readyz", { key: null })).json();
  // Not even what the service does for itself.
  expect(await tasks()).toMatchObject({ tasks: { waiting: 0, running: 0 } });
  for (let n = 0; n < 5; n += 1) await send(subject, JOBS, String(n));
  await subject.runner.run(1);
  expect(await tasks()).toMatchObject({ tasks: { waiting: 4, running: 1 } });
});

it.each(['{"prompt":" \\n\\t\u3000"}', '{"prompt":"\\ud800"}', Buffer.from([0x7b, 0xff, 0x7d])])(
  "refuses a prompt of white space, or text that is not Unicode",
  async (body) => {
    await using subject = await ServiceUnderTest.start();
    const response = await subject.ask(JOBS, { body });
    expect(response.status).toBe(400);
    expect(subject.store.unfinishedJobs()).toEqual([]);
  },
);

it("says what a request should have been, in words of its own", async () => {
  await using subject = await ServiceUnderTest.start();
  const { id } = await send(subject, JOBS, "Fix");
  const error = async (path: string, body?: object) =>
    (
      (await (await subject.ask(path, { ...(body && { body }), method: body ? "POST" : "GET" })).json()) as {
        error: string;
      }
    ).error;
  const want = "an object with questionId and choice, or questionId and a text of 1 to 4000 characters";
  expect(await error(`${JOBS}/${id}/answer`, { prompt: "1" })).toBe(`The body must be ${want}.`);
  expect(await error(JOBS, [])).toBe("The body must be a JSON object with prompt.");
  expect(await error(`${JOBS}?status=done`)).toBe(
    "status must be one of active, completed, archived, failed.",
  );
  expect(await error(`${JOBS}/${id}/turn/first/cancel`, {})).toBe(
    "number must be a turn's number, where 1 is the create.",
  );
});
