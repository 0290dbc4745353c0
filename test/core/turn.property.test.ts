import fc from "fast-check";
import { expect, it } from "vitest";
import type { JobServiceAnswer } from "../../src/core/job-service.ts";
import type { Outcome } from "../../src/core/outcome.ts";
import type { PollingPolicy } from "../../src/core/polling.ts";
import {
  FRESH_POLL_STATE,
  afterPoll,
  afterSubmit,
  beforePoll,
  beforeSubmit,
  deadlineOf,
} from "../../src/core/turn.ts";
import type { PollState, Turn } from "../../src/core/turn.ts";
import { makeJob, makeRequest, makeTurn } from "../support/builders.ts";

const policies = fc
  .record({
    minMs: fc.integer({ min: 1, max: 10_000 }),
    spread: fc.integer({ min: 0, max: 100_000 }),
    deadlineMs: fc.integer({ min: 1, max: 2_000_000 }),
  })
  .map(({ minMs, spread, deadlineMs }): PollingPolicy => ({ minMs, maxMs: minMs + spread, deadlineMs }));

const answers: fc.Arbitrary<JobServiceAnswer> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .record({
        status: fc.constantFrom("active", "active", "active", "completed", "failed", "archived"),
        prLink: fc.constantFrom(null, "https://github.com/acme/docs/pull/7"),
      })
      .map(({ status, prLink }): JobServiceAnswer => ({
        ok: true,
        honorsIdempotencyKeys: false,
        job: makeJob({ status, prLink }),
      })),
  },
  {
    weight: 4,
    arbitrary: fc
      .record({
        kind: fc.constantFrom("not-created", "unknown", "rejected", "missing", "contract"),
        retryAfterMs: fc.option(fc.integer({ min: 0, max: 3_600_000 }), { nil: undefined }),
      })
      .map(({ kind, retryAfterMs }): JobServiceAnswer => ({
        ok: false,
        honorsIdempotencyKeys: false,
        fault: { kind, message: "fault", ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
      })),
  },
);

/** One thing that happens: the service's answer, how late the task runs, and whether the process dies on the way. */
const stepsOn = (lateMs: fc.Arbitrary<number>) =>
  fc.record({
    answer: answers,
    lateMs,
    tookMs: fc.integer({ min: 0, max: 15_000 }),
    random: fc.double({ min: 0, max: 0.999_999, noNaN: true }),
    crash: fc.constantFrom("no", "no", "no", "no", "before the request", "before the answer is saved"),
  });
const late = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 500_000 }));
const steps = stepsOn(late);
/** A machine's clock can be set back, too. */
const stepsOnAnyClock = stepsOn(fc.oneof(late, fc.integer({ min: -500_000, max: 0 })));
type Step = typeof steps extends fc.Arbitrary<infer T> ? T : never;

type Run = {
  outcomes: Outcome[];
  pollsAt: number[];
  crashedPollsAt: number[];
  creates: number;
  watchingSince: number | null;
};

/** Runs a turn as the tasks do, on a clock of its own; when the steps are used up the service says nothing useful any more. */
function run(policy: PollingPolicy, given: Step[]): Run {
  const result: Run = { outcomes: [], pollsAt: [], crashedPollsAt: [], creates: 0, watchingSince: null };
  const pending = [...given];
  const silent: Step = {
    answer: { ok: false, honorsIdempotencyKeys: false, fault: { kind: "unknown", message: "silence" } },
    lateMs: 0,
    tookMs: 0,
    random: 0.5,
    crash: "no",
  };
  let now = 0;
  let turn: Turn = makeTurn({ request: makeRequest({ receivedAt: 0 }) });
  let state: PollState = FRESH_POLL_STATE;
  let attempt = 0;

  function end(ended: Turn): Run {
    if (ended.stage.name !== "ended") throw new Error("not ended");
    result.outcomes.push(ended.stage.outcome);
    return result;
  }

  for (let guard = 0; guard < 5_000_000; guard += 1) {
    const step = pending.shift() ?? silent;
    now += step.lateMs;
    if (turn.stage.name === "accepted" || turn.stage.name === "submitting") {
      attempt += 1;
      const next = beforeSubmit(turn, now, policy);
      if (next.kind === "ended") return end(next.turn);
      if (next.kind === "watching") throw new Error("watched before it was created");
      if (step.crash === "before the request") {
        // The intent was saved, the request was not sent.
        turn = next.turn;
        continue;
      }
      result.creates += 1;
      now += step.tookMs;
      if (step.crash === "before the answer is saved") {
        turn = next.turn;
        continue;
      }
      const after = afterSubmit(turn, step.answer, { now, attempt, random: step.random, policy });
      turn = after.turn;
      if (after.kind === "ended") return end(turn);
      if (after.kind === "watching") {
        result.watchingSince = now;
        now += policy.minMs;
      } else {
        now += after.afterMs;
      }
      continue;
    }
    const ready = beforePoll(turn, now, policy);
    if (ready !== "poll") return end(ready);
    if (step.crash === "before the request") continue;
    result.pollsAt.push(now);
    if (step.crash === "before the answer is saved") {
      result.crashedPollsAt.push(now);
      continue;
    }
    now += step.tookMs;
    const after = afterPoll(turn, state, step.answer, { now, random: step.random, policy });
    turn = after.turn;
    if (after.kind === "ended") return end(turn);
    state = after.state;
    expect(after.dueAt).toBeLessThanOrEqual(Math.max(now, deadlineOf(turn, policy)));
    now = after.dueAt;
  }
  throw new Error("the turn never ended");
}

it("ends every turn in exactly one outcome, whatever the service answers and whenever the process dies", () => {
  fc.assert(
    fc.property(policies, fc.array(stepsOnAnyClock, { maxLength: 60 }), (policy, given) => {
      expect(run(policy, given).outcomes).toHaveLength(1);
    }),
    { numRuns: 2000 },
  );
});

it("never polls faster than the floor, and never after the deadline", () => {
  fc.assert(
    fc.property(policies, fc.array(steps, { maxLength: 60 }), (policy, given) => {
      const { pollsAt, crashedPollsAt, watchingSince } = run(policy, given);
      for (const [index, at] of pollsAt.entries()) {
        const before = index === 0 ? (watchingSince ?? 0) : (pollsAt[index - 1] ?? 0);
        // A poll whose answer was lost in a crash is asked again after the restart.
        if (index > 0 && crashedPollsAt.includes(before)) continue;
        expect(at - before).toBeGreaterThanOrEqual(policy.minMs);
        expect(at).toBeLessThan((watchingSince ?? 0) + policy.deadlineMs);
      }
    }),
    { numRuns: 2000 },
  );
});

it("sends a second create only after an answer that says the first had no effect", () => {
  fc.assert(
    fc.property(policies, fc.array(steps, { maxLength: 20 }), (policy, given) => {
      const { creates, outcomes } = run(policy, given);
      const lost = given.slice(0, creates).findIndex(({ answer, crash }) => {
        if (crash !== "no") return true;
        return answer.ok || answer.fault.kind !== "not-created";
      });
      if (lost !== -1) expect(creates).toBeLessThanOrEqual(lost + 1);
      if (lost !== -1 && given[lost]?.crash === "before the answer is saved") {
        expect(outcomes.map(({ kind }) => kind)).toEqual(["unknown"]);
      }
    }),
    { numRuns: 2000 },
  );
});
