import type { FullJob } from "../../src/shared/contract/job.ts";
import type { Sent } from "../../src/shared/contract/reading.ts";
import { expect, it } from "vitest";
import { MAX_ASKED } from "../../src/service/jobs/pending-questions.ts";
import { makeServiceProject } from "../support/service-project.ts";
import { makeAskingAgent, ServiceUnderTest } from "../support/service-under-test.ts";
import { resultNamed } from "../support/scripted-runner.ts";

const JOBS = "/v2/agent/docs/job";
const QUESTION = {
  text: "Which page?",
  choices: [
    { id: "1", label: "Install" },
    { id: "2", label: "FAQ" },
  ],
  allowsText: false,
};

async function start(): Promise<ServiceUnderTest> {
  return await ServiceUnderTest.start({
    projects: [makeServiceProject({ agent: makeAskingAgent() }), makeServiceProject({ id: "api" })],
  });
}

async function create(subject: ServiceUnderTest): Promise<string> {
  const response = await subject.ask(JOBS, { body: { prompt: "Fix" } });
  return ((await response.json()) as Sent<typeof FullJob>).id;
}

async function questionsOf(
  subject: ServiceUnderTest,
  id: string,
): Promise<Sent<typeof FullJob>["questions"]> {
  const headers = { "docs-agent-capabilities": "docs-agent/1" };
  return ((await (await subject.ask(`${JOBS}/${id}`, { headers })).json()) as Sent<typeof FullJob>).questions;
}

async function answer(subject: ServiceUnderTest, id: string, body: object): Promise<number> {
  return (await subject.ask(`${JOBS}/${id}/answer`, { body })).status;
}

it("shows a question, and takes its answer to the agent, once", async () => {
  await using subject = await start();
  const id = await create(subject);
  const { input } = await subject.runner.run(1);
  const asked = input.ask(QUESTION);
  const [question] = (await questionsOf(subject, id)) ?? [];
  expect(question).toMatchObject({ ...QUESTION, turn: 1, askedAt: "2026-01-05T09:00:00Z", answeredAt: null });

  const questionId = question?.id ?? "";
  expect(await answer(subject, id, { questionId, choice: "9" })).toBe(400);
  expect(await answer(subject, id, { questionId, text: "Both" })).toBe(400);
  expect(await answer(subject, id, { questionId, choice: "1", text: "Both" })).toBe(400);
  expect(await answer(subject, id, { questionId: "q-0", choice: "1" })).toBe(404);
  expect(await answer(subject, id, { questionId, choice: "2" })).toBe(200);
  expect(await asked).toEqual({ choice: "2" });
  expect(await answer(subject, id, { questionId, choice: "2" })).toBe(200);
  expect(await answer(subject, id, { questionId, choice: "1" })).toBe(409);
  expect(await questionsOf(subject, id)).toMatchObject([{ answeredAt: "2026-01-05T09:00:00Z" }]);
});

it("takes an answer in words where the question allows it", async () => {
  await using subject = await start();
  const id = await create(subject);
  const asked = (await subject.runner.run(1)).input.ask({ text: "Why?", choices: [], allowsText: true });
  const questionId = (await questionsOf(subject, id))?.[0]?.id ?? "";
  expect(await answer(subject, id, { questionId, text: " " })).toBe(400);
  expect(await answer(subject, id, { questionId, text: "It is old <!channel>" })).toBe(200);
  expect(await asked).toEqual({ text: "It is old <!channel>" });
});

it("does not let another project answer", async () => {
  await using subject = await start();
  const id = await create(subject);
  void (await subject.runner.run(1)).input.ask(QUESTION);
  const questionId = (await questionsOf(subject, id))?.[0]?.id ?? "";
  const other = await create(subject);
  expect(await answer(subject, other, { questionId, choice: "1" })).toBe(404);
  const key = subject.keys["api"] ?? "";
  const path = `/v2/agent/api/job/${id}/answer`;
  expect((await subject.ask(path, { body: { questionId, choice: "1" }, key })).status).toBe(404);
});

it("gives up a question that nobody answers in time", async () => {
  await using subject = await start();
  const id = await create(subject);
  const asked = (await subject.runner.run(1)).input.ask(QUESTION);
  const questionId = (await questionsOf(subject, id))?.[0]?.id ?? "";
  subject.clock.advance(60 * 60_000);
  expect(await asked).toBeNull();
  expect(await questionsOf(subject, id)).toEqual([]);
  expect(await answer(subject, id, { questionId, choice: "1" })).toBe(404);
  subject.clock.advance(1000);
  expect(subject.store.turns(id)[0]?.progress).toEqual(["asks: Which page?", "not answered in time"]);
});

it("gives it up a second later if the database can't be written in that moment", async () => {
  await using subject = await start();
  const id = await create(subject);
  const asked = (await subject.runner.run(1)).input.ask(QUESTION);
  subject.db.exec("PRAGMA query_only = true");
  subject.clock.advance(60 * 60_000);
  subject.db.exec("PRAGMA query_only = false");
  expect(subject.logger.text("error")).toContain("a question cannot be closed; trying again");
  subject.clock.advance(1000);
  expect(await asked).toBeNull();
  expect(await questionsOf(subject, id)).toEqual([]);
});

it.each(["end", "cancel", "archive"])("closes the questions of a turn with its %s", async (how) => {
  await using subject = await start();
  const id = await create(subject);
  const { input, end } = await subject.runner.run(1);
  const asked = input.ask(QUESTION);
  const questionId = (await questionsOf(subject, id))?.[0]?.id ?? "";
  if (how === "end") end(resultNamed(id, "no-changes"));
  else
    await subject.ask(`${JOBS}/${id}/${how === "cancel" ? "turn/1/cancel" : "archive"}`, { method: "POST" });
  await subject.service.queue.idle();
  expect(await asked).toBeNull();
  expect(await questionsOf(subject, id)).toEqual([]);
  expect(await answer(subject, id, { questionId, choice: "1" })).toBe(404);
});

it("lets one run ask only so much", async () => {
  await using subject = await start();
  const id = await create(subject);
  const { input } = await subject.runner.run(1);
  for (let n = 0; n < MAX_ASKED; n += 1) void input.ask(QUESTION);
  expect(await input.ask(QUESTION)).toBeNull();
  expect(await questionsOf(subject, id)).toHaveLength(MAX_ASKED);
});

it("closes questions over a restart even if their turn doesn't run yet", async () => {
  await using subject = await start();
  const id = await create(subject);
  void (await subject.runner.run(1)).input.ask(QUESTION);
  const questionId = (await questionsOf(subject, id))?.[0]?.id ?? "";
  const dueAt = subject.clock.now() + 60_000;
  await subject.crash((db) => db.prepare("UPDATE turns SET due_at = ?").run(dueAt));
  await subject.start();
  expect(await questionsOf(subject, id)).toEqual([]);
  expect(await answer(subject, id, { questionId, choice: "1" })).toBe(404);
});

it("closes questions over a restart: the turn runs anew and asks anew", async () => {
  await using subject = await start();
  const id = await create(subject);
  void (await subject.runner.run(1)).input.ask(QUESTION);
  const questionId = (await questionsOf(subject, id))?.[0]?.id ?? "";
  await subject.crash();
  await subject.start();
  const { input } = await subject.runner.run(2);
  expect(await questionsOf(subject, id)).toEqual([]);
  expect(await answer(subject, id, { questionId, choice: "1" })).toBe(404);
  const asked = input.ask(QUESTION);
  const again = (await questionsOf(subject, id))?.[0]?.id ?? "";
  expect(await answer(subject, id, { questionId: again, choice: "1" })).toBe(200);
  expect(await asked).toEqual({ choice: "1" });
});
