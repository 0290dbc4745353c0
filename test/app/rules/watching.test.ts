import { describe, expect, it } from "vitest";
import type { JobServiceAnswer } from "../../../src/app/rules/ports/job-service.ts";
import { statusKey } from "../../../src/app/rules/words/status-text.ts";
import { resumeTurn } from "../../../src/app/rules/turn/turn.ts";
import type { Turn } from "../../../src/app/rules/turn/turn.ts";
import {
  FRESH_POLL_STATE,
  expireTurn,
  nextPollAt,
  pollStateAfter,
  turnAfterPoll,
} from "../../../src/app/rules/turn/watching.ts";
import type { PollState } from "../../../src/app/rules/turn/watching.ts";
import { fault, found, makeJob, makeTurn } from "../../support/builders.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const policy = { minMs: 5000, maxMs: MINUTE_MS, deadlineMs: 24 * HOUR_MS };
const START = 1_000_000_000_000;
const watched: Turn = makeTurn({
  job: makeJob(),
  stage: { name: "watching", since: START, troubleSince: null },
});

const gone = fault("missing", { status: 404 });

/** Polls as the watching of a job does; each answer comes at so many milliseconds after the start. */
function poll(
  answers: Array<[atMs: number, answer: JobServiceAnswer]>,
  from: { turn: Turn; state: PollState } = { turn: watched, state: FRESH_POLL_STATE },
): { turn: Turn; state: PollState } {
  let { turn, state } = from;
  for (const [atMs, answer] of answers) {
    state = pollStateAfter(state, answer, START + atMs);
    turn = turnAfterPoll(turn, state, answer, START + atMs);
  }
  return { turn, state };
}

function outcomeOf({ stage }: Turn): unknown {
  return stage.name === "ended" ? [stage.outcome.kind, stage.outcome.reason] : stage.name;
}

describe("an answer that would end the watch", () => {
  it.each([
    [gone, ["missing", null]],
    [fault("rejected", { status: 401 }), ["rejected", "key"]],
    [fault("rejected", { status: 400 }), ["rejected", "prompt"]],
    [fault("contract", { status: 200 }), ["unknown", "unreadable"]],
  ])("is believed after three in a row, over three minutes at least: %j", (answer, outcome) => {
    const quick = Array.from({ length: 20 }, (_, index): [number, JobServiceAnswer] => [
      index * 9000,
      answer,
    ]);
    expect(outcomeOf(poll(quick).turn)).toBe("watching");
    expect(outcomeOf(poll([...quick, [180_000, answer]]).turn)).toEqual(outcome);
    expect(
      outcomeOf(
        poll([
          [0, answer],
          [600_000, answer],
        ]).turn,
      ),
    ).toBe("watching");
    expect(
      outcomeOf(
        poll([
          [0, answer],
          [1000, answer],
          [600_000, answer],
        ]).turn,
      ),
    ).toEqual(outcome);
  });

  it("is forgotten when the job is there after all", () => {
    const { turn, state } = poll([
      [0, gone],
      [100_000, gone],
      [150_000, found()],
      [200_000, gone],
      [300_000, gone],
    ]);
    expect(outcomeOf(turn)).toBe("watching");
    expect(state.strikes).toEqual({ kind: "missing", count: 2, since: START + 200_000 });
  });

  it("counts anew when another kind of answer comes between", () => {
    const { turn, state } = poll([
      [0, gone],
      [100_000, gone],
      [150_000, fault("rejected", { status: 403 })],
      [200_000, gone],
    ]);
    expect(outcomeOf(turn)).toBe("watching");
    expect(state.strikes).toEqual({ kind: "missing", count: 1, since: START + 200_000 });
    expect(
      poll([
        [0, gone],
        [1, fault("unknown")],
      ]).state.strikes,
    ).toBeNull();
  });

  it("is believed three minutes after the clock was set back, not when it has caught up", () => {
    const early = poll([
      [HOUR_MS, gone],
      [HOUR_MS + 5000, gone],
    ]);
    const later = poll(
      [
        [0, gone],
        [MINUTE_MS, gone],
        [2 * MINUTE_MS, gone],
      ],
      early,
    );
    expect(outcomeOf(later.turn)).toBe("watching");
    expect(outcomeOf(poll([[3 * MINUTE_MS, gone]], later).turn)).toEqual(["missing", null]);
  });

  it("keeps what was known of the job, so that it can be watched again", () => {
    const { turn } = poll([
      [0, gone],
      [100_000, gone],
      [200_000, gone],
    ]);
    expect(turn.stage).toMatchObject({ outcome: { job: { id: "job-1" } } });
  });
});

describe("an answer with the job", () => {
  it("changes nothing while the job runs, not even the record", () => {
    expect(poll([[5000, found()]]).turn).toBe(watched);
  });

  it.each([
    ["completed", "https://github.com/acme/docs/pull/7", "pull-request"],
    ["completed", null, "no-changes"],
    ["failed", null, "failed"],
    ["archived", "https://github.com/acme/docs/pull/7", "archived"],
  ] as const)("that is %s (%s) ends the turn as %s", (status, prLink, kind) => {
    const { turn } = poll([[5000, found(makeJob({ status, prLink }))]]);
    expect(turn.stage).toMatchObject({ name: "ended", outcome: { kind, job: { status, prLink } } });
    expect(turn.job).toMatchObject({ status, prLink });
  });

  it("never ends a turn twice", () => {
    const { turn } = poll([[5000, found(makeJob({ status: "failed" }))]]);
    expect(
      poll([[6000, found(makeJob({ status: "archived" }))]], { turn, state: FRESH_POLL_STATE }).turn,
    ).toBe(turn);
  });
});

describe("trouble", () => {
  const silence = fault("unknown");

  it("is said after three faults in a row, once, and that it is over", () => {
    expect(
      statusKey(
        poll([
          [0, silence],
          [1000, silence],
        ]).turn,
      ),
    ).toBe("watching-1");
    const troubled = poll([
      [0, silence],
      [1000, silence],
      [2000, silence],
    ]);
    expect(statusKey(troubled.turn)).toBe("watching-1-trouble");
    expect(poll([[3000, silence]], troubled).turn).toBe(troubled.turn);
    expect(statusKey(poll([[3000, found()]], troubled).turn)).toBe("watching-1");
  });

  it("is over when somebody watches again", () => {
    const troubled = poll([
      [0, silence],
      [1000, silence],
      [2000, silence],
    ]);
    const expired = expireTurn(troubled.turn, START + policy.deadlineMs, policy);
    expect(statusKey(resumeTurn(expired, START + policy.deadlineMs))).toBe("watching-2");
  });
});

describe("a watch", () => {
  it("ends at its deadline and not before", () => {
    expect(expireTurn(watched, START + policy.deadlineMs - 1, policy)).toBe(watched);
    expect(outcomeOf(expireTurn(watched, START + policy.deadlineMs, policy))).toEqual([
      "expired",
      "deadline",
    ]);
  });

  it("does not end because the clock was set back", () => {
    expect(expireTurn(watched, START - HOUR_MS, policy)).toBe(watched);
  });

  it("polls no later than at its deadline, whatever the service asks for", () => {
    const at = { now: START + policy.deadlineMs - 3000, retryAfterMs: HOUR_MS, random: 0.5, policy };
    expect(nextPollAt(watched, FRESH_POLL_STATE, at)).toBe(START + policy.deadlineMs);
  });

  it("polls at the pace of a watch that has just begun after the clock was set back", () => {
    const at = { now: START - HOUR_MS, retryAfterMs: 0, random: 0.5, policy };
    expect(nextPollAt(watched, FRESH_POLL_STATE, at)).toBe(START - HOUR_MS + policy.minMs);
  });

  it("waits longer with each fault, and as long as the service asks", () => {
    const at = { now: START, retryAfterMs: 0, random: 0.5, policy };
    expect(nextPollAt(watched, { faults: 2, strikes: null }, at) - START).toBe(20_000);
    expect(nextPollAt(watched, FRESH_POLL_STATE, { ...at, retryAfterMs: 400_000 }) - START).toBe(400_000);
  });
});
