import { describe, expect, it } from "vitest";
import type { JobServiceAnswer } from "../../src/core/job-service.ts";
import { statusKey } from "../../src/core/status-text.ts";
import {
  FRESH_POLL_STATE,
  afterPoll,
  afterSubmit,
  beforePoll,
  beforeSubmit,
  endTurn,
  resumeTurn,
} from "../../src/core/turn.ts";
import type { PollState, Turn } from "../../src/core/turn.ts";
import { makeJob, makeTurn } from "../support/builders.ts";

const policy = { minMs: 5000, maxMs: 60_000, deadlineMs: 86_400_000 };
const watching: Turn = makeTurn({
  job: makeJob(),
  stage: { name: "watching", since: 0, troubleSince: null },
});

function fault(
  kind: "not-created" | "unknown" | "rejected" | "missing" | "contract",
  status?: number,
): JobServiceAnswer {
  return { ok: false, fault: { kind, message: "fault", ...(status === undefined ? {} : { status }) } };
}

function pollAll(answers: JobServiceAnswer[]): { turn: Turn; state: PollState; ended: boolean } {
  let turn = watching;
  let state = FRESH_POLL_STATE;
  for (const [index, answer] of answers.entries()) {
    const next = afterPoll(turn, state, answer, { now: 10_000 * (index + 1), random: 0.5, policy });
    turn = next.turn;
    if (next.kind === "ended") return { turn, state, ended: index === answers.length - 1 };
    state = next.state;
  }
  return { turn, state, ended: false };
}

function outcomeOf(turn: Turn): unknown {
  return turn.stage.name === "ended" ? [turn.stage.outcome.kind, turn.stage.outcome.reason] : null;
}

describe("a create", () => {
  it.each([
    ["unknown", undefined, ["unknown", "create-lost"]],
    ["contract", 201, ["unknown", "unreadable"]],
    ["missing", 404, ["rejected", "project"]],
    ["rejected", 401, ["rejected", "key"]],
    ["rejected", 403, ["rejected", "key"]],
    ["rejected", 400, ["rejected", "prompt"]],
    ["rejected", 418, ["rejected", "other"]],
  ] as const)("answered with %s (%s) ends the turn as %j", (kind, status, outcome) => {
    const after = afterSubmit(makeTurn(), fault(kind, status), { now: 1, attempt: 1, random: 0.5, policy });
    expect(after.kind).toBe("ended");
    expect(outcomeOf(after.turn)).toEqual(outcome);
  });

  it("that was not taken is tried again, later each time, no sooner than the service asks", () => {
    const delays = [1, 2, 3, 10].map((attempt) => {
      const after = afterSubmit(makeTurn(), fault("not-created"), { now: 0, attempt, random: 0.5, policy });
      return after.kind === "later" ? after.afterMs : null;
    });
    expect(delays).toEqual([10_000, 20_000, 40_000, 60_000]);
    const asked = afterSubmit(
      makeTurn(),
      { ok: false, fault: { kind: "not-created", message: "429", retryAfterMs: 600_000 } },
      { now: 0, attempt: 1, random: 0.5, policy },
    );
    expect(asked).toMatchObject({ kind: "later", afterMs: 600_000 });
  });

  it("that is not taken until the deadline ends the turn as never started", () => {
    const next = beforeSubmit(makeTurn(), policy.deadlineMs, policy);
    expect(outcomeOf(next.turn)).toEqual(["expired", "never-started"]);
  });

  it("found on its way after a crash is not repeated", () => {
    const next = beforeSubmit(makeTurn({ stage: { name: "submitting" } }), 1, policy);
    expect(outcomeOf(next.turn)).toEqual(["unknown", "create-lost"]);
  });
});

describe("polling", () => {
  it("needs three answers in a row to believe that the job is gone, the key refused, or the answers nonsense", () => {
    expect(pollAll([fault("missing"), fault("missing")]).ended).toBe(false);
    expect(outcomeOf(pollAll([fault("missing"), fault("missing"), fault("missing")]).turn)).toEqual([
      "missing",
      null,
    ]);
    expect(outcomeOf(pollAll(Array.from({ length: 3 }, () => fault("rejected", 401))).turn)).toEqual([
      "rejected",
      "key",
    ]);
    expect(outcomeOf(pollAll(Array.from({ length: 3 }, () => fault("contract"))).turn)).toEqual([
      "unknown",
      "unreadable",
    ]);
  });

  it("forgets earlier doubts when the job is there after all", () => {
    const active: JobServiceAnswer = { ok: true, job: makeJob() };
    const { ended, state } = pollAll([
      fault("missing"),
      fault("missing"),
      active,
      fault("missing"),
      fault("missing"),
    ]);
    expect(ended).toBe(false);
    expect(state.strikes).toEqual({ kind: "missing", count: 2 });
  });

  it("shows trouble after three faults, and that it is over", () => {
    const troubled = pollAll([fault("unknown"), fault("unknown"), fault("unknown")]).turn;
    expect(statusKey(troubled)).toBe("watching-1-trouble");
    const after = afterPoll(
      troubled,
      { faults: 3, strikes: null },
      { ok: true, job: makeJob() },
      { now: 1, random: 0, policy },
    );
    expect(statusKey(after.turn)).toBe("watching-1");
  });

  it("ends at the deadline, and a person can keep watching the job", () => {
    const expired = beforePoll(watching, policy.deadlineMs, policy);
    if (expired === "poll") throw new Error("polled after the deadline");
    expect(outcomeOf(expired)).toEqual(["expired", "deadline"]);
    const resumed = resumeTurn(expired, 2, policy.deadlineMs + 5);
    expect(resumed).toMatchObject({ watch: 2, stage: { name: "watching", since: policy.deadlineMs + 5 } });
    expect(resumeTurn(expired, 3, 0)).toBeNull();
    expect(resumeTurn(watching, 2, 0)).toBeNull();
  });

  it("reports an archived job with its pull request", () => {
    const prLink = "https://github.com/acme/docs/pull/7";
    const { turn } = pollAll([{ ok: true, job: makeJob({ status: "archived", prLink }) }]);
    expect(turn.stage).toMatchObject({ outcome: { kind: "archived", job: { prLink } } });
  });
});

it("measures how long a turn took from the request", () => {
  const ended = endTurn(makeTurn(), "failed", 65_000);
  expect(ended.stage).toMatchObject({ outcome: { tookMs: 65_000 } });
});
