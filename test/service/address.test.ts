import { expect, it } from "vitest";
import { z } from "zod";
import { FollowedPullRequest } from "../../src/shared/contract/pull-request.ts";
import { makeServiceProject } from "../support/service-project.ts";
import { ServiceUnderTest } from "../support/service-under-test.ts";
import { resultNamed } from "../support/scripted-runner.ts";

const JOBS = "/v2/agent/docs/job";
const HEADERS = { "Docs-Agent-Capabilities": "docs-agent/1" };

type Seen = { id: string; turns: object[]; pullRequest: { roundsLeft?: number } | null };

/** Creates a job whose turn has left a pull request. Resolves to its id. */
async function ended(subject: ServiceUnderTest): Promise<string> {
  const created = await subject.ask(JOBS, { body: { prompt: "Fix" } });
  const { id } = (await created.json()) as Seen;
  (await subject.runner.runOf(id)).end(resultNamed(id, "pull-request"));
  await subject.service.queue.idle();
  return id;
}

/** Pretends that the code host showed the job's pull request so. */
function see(subject: ServiceUnderTest, over: Partial<FollowedPullRequest>): void {
  const record = z.encode(FollowedPullRequest, {
    url: "https://git.example/acme/docs/pull/7",
    number: 7,
    title: "Fix",
    state: "open",
    isDraft: false,
    review: "none",
    checks: { state: "passed", failed: [] },
    reviews: [],
    waitingFor: [],
    mergeable: true,
    blockedBy: null,
    headSha: "c".repeat(40),
    isVisible: true,
    openedAt: Date.parse("2026-01-05T09:00:00Z"),
    ...over,
  });
  subject.db.prepare("UPDATE jobs SET pull_request = ?").run(JSON.stringify(record));
}

/** A review that asks for changes. */
function asks(author: string, isBot?: true): FollowedPullRequest["reviews"][number] {
  const asked = { author, state: "changes-requested" as const, words: "Shorter.", headSha: null };
  return { id: author, at: Date.parse("2026-01-05T10:00:00Z"), ...asked, ...(isBot && { isBot }) };
}

const read = async (subject: ServiceUnderTest, id: string) =>
  (await (await subject.ask(`${JOBS}/${id}`, { headers: HEADERS })).json()) as Seen;

it("adds a turn that answers the reviews, once for one key, within the limits of messages", async () => {
  const limits = { createsPerHour: 3, messagesPerHour: 1, jobsAtOnce: 2, queued: 100 };
  await using subject = await ServiceUnderTest.start({ projects: [makeServiceProject({ limits })] });
  const id = await ended(subject);
  see(subject, { review: "changes-requested" });
  const requester = { name: "Ana", link: null, isPrivate: true };
  const press = () =>
    subject.ask(`${JOBS}/${id}/address`, {
      body: { requester },
      headers: { ...HEADERS, "idempotency-key": "press-1" },
    });
  const answer = await press();
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({
    id,
    status: "active",
    turns: [{ number: 1 }, { number: 2, kind: "address" }],
  });
  expect((await press()).status).toBe(200);
  const { input } = await subject.runner.runOf(id, 2);
  expect(input).toMatchObject({ number: 2, kind: "address", words: null, requester });
  input.report({ isRound: true });
  (await subject.runner.runOf(id, 2)).end(resultNamed(id, "pull-request"));
  await subject.service.queue.idle();
  expect(await read(subject, id)).toMatchObject({ status: "completed", pullRequest: { roundsLeft: 2 } });
  const another = await subject.ask(`${JOBS}/${id}/address`, { body: {} });
  expect([another.status, (await read(subject, id)).turns.length]).toEqual([429, 2]);
});

it.each<[string, Partial<FollowedPullRequest> | null, number, string]>([
  ["nothing known of it yet", null, 200, ""],
  ["a failed check", { checks: { state: "failed", failed: ["links"] } }, 200, ""],
  ["nothing to answer", {}, 409, "No review asks for changes, and no check has failed."],
  [
    "a bot's request beside a person's",
    { review: "changes-requested", reviews: [asks("lint", true), asks("mira")] },
    200,
    "",
  ],
  [
    "a bot's request alone",
    { review: "changes-requested", reviews: [asks("lint", true)] },
    409,
    "Only a bot asks for changes, and the agent answers people alone.",
  ],
  ["merged", { state: "merged" }, 409, "The pull request is merged, so nothing is changed in it."],
  ["closed", { state: "closed" }, 409, "The pull request is closed, so nothing is changed in it."],
])("says why it can't answer reviews: %s", async (_, over, status, error) => {
  await using subject = await ServiceUnderTest.start();
  const id = await ended(subject);
  if (over !== null) see(subject, over);
  const answer = await subject.ask(`${JOBS}/${id}/address`, { body: {} });
  expect(answer.status).toBe(status);
  expect(await answer.json()).toMatchObject(error === "" ? { id } : { error });
});

it("refuses a job without a pull request, a second order at once, and a fourth round", async () => {
  await using subject = await ServiceUnderTest.start();
  const created = await subject.ask(JOBS, { body: { prompt: "Fix" } });
  const bare = (await created.json()) as Seen;
  const ask = async (id: string) => {
    const answer = await subject.ask(`${JOBS}/${id}/address`, { body: {} });
    return [answer.status, ((await answer.json()) as { error?: string }).error];
  };
  expect(await ask(bare.id)).toEqual([404, "The job has no pull request."]);
  (await subject.runner.runOf(bare.id)).end(resultNamed(bare.id, "no-changes"));
  const id = await ended(subject);
  for (const count of [2, 3, 4]) {
    see(subject, { review: "changes-requested" });
    expect(await ask(id)).toEqual([200, undefined]);
    expect(await ask(id)).toEqual([409, "The agent has already been asked to answer the reviews."]);
    const run = await subject.runner.runOf(id, count);
    run.input.report({ isRound: true });
    run.end(resultNamed(id, "pull-request"));
    await subject.service.queue.idle();
  }
  see(subject, { review: "changes-requested" });
  expect(await ask(id)).toEqual([
    409,
    "The agent has answered three rounds of reviews and checks. Now a person has to decide.",
  ]);
  expect((await read(subject, id)).pullRequest).toMatchObject({ roundsLeft: 0 });
});
