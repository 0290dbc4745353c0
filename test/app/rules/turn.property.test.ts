import fc from "fast-check";
import { expect, it } from "vitest";
import type { JobServiceAnswer } from "../../../src/app/rules/ports/job-service.ts";
import type { Outcome } from "../../../src/app/rules/turn/outcome.ts";
import type { PollingPolicy } from "../../../src/app/rules/retry.ts";
import { afterSubmit, beforeSubmit } from "../../../src/app/rules/turn/submitting.ts";
import { canKeepWatching, deadlineOf, resumeTurn } from "../../../src/app/rules/turn/turn.ts";
import type { Turn } from "../../../src/app/rules/turn/turn.ts";
import {
  FRESH_POLL_STATE,
  expireTurn,
  nextPollAt,
  pollStateAfter,
  turnAfterPoll,
} from "../../../src/app/rules/turn/watching.ts";
import type { PollState } from "../../../src/app/rules/turn/watching.ts";
import { makeJob, makeRequest, makeTurn } from "../../support/builders.ts";

const policies = fc
  .record({
    minMs: fc.integer({ min: 1, max: 10_000 }),
    spread: fc.integer({ min: 0, max: 100_000 }),
    /** In floors, so that no run takes a million polls. */
    deadlineInPolls: fc.double({ min: 0.1, max: 500, noNaN: true }),
  })
  .map(({ minMs, spread, deadlineInPolls }): PollingPolicy => ({
    minMs,
    maxMs: minMs + spread,
    deadlineMs: Math.ceil(minMs * deadlineInPolls),
  }));

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

/** The names in it are looked up, and may read differently each time. */
const quoted = {
  segments: [],
  authorId: "U2",
  authorName: null,
  channelId: "C1",
  ts: "1.1",
  threadTs: null,
};

/** A create as it went out: when, with what prompt, and what became of it. */
type Create = { at: number; prompt: string; end: "lost" | "not-created" | "settled" };
type Run = {
  outcomes: Outcome[];
  /** Of the first watch. */
  pollsAt: number[];
  crashedPollsAt: number[];
  creates: Create[];
  watchingSince: number | null;
};

/**
 * Runs a turn as the tasks do, on a clock of its own; when the steps are used up the service says nothing useful any more. Somebody
 * keeps watching `again` times.
 */
function run(policy: PollingPolicy, given: Step[], { honorsKeys = false, again = 0 } = {}): Run {
  const result: Run = { outcomes: [], pollsAt: [], crashedPollsAt: [], creates: [], watchingSince: null };
  const pending = [...given];
  const silent: Step = {
    answer: { ok: false, honorsIdempotencyKeys: false, fault: { kind: "unknown", message: "silence" } },
    lateMs: 0,
    tookMs: 0,
    random: 0.5,
    crash: "no",
  };
  let now = 0;
  let turn: Turn = makeTurn({ request: makeRequest({ receivedAt: 0, quoted }) });
  let state: PollState = FRESH_POLL_STATE;
  let attempt = 0;

  function save(next: Turn): void {
    turn = next;
  }

  for (let guard = 0; guard < 5_000_000; guard += 1) {
    const step = pending.shift() ?? silent;
    now += step.lateMs;
    if (turn.stage.name === "ended") {
      result.outcomes.push(turn.stage.outcome);
      if (turn.stage.outcome.tookMs < 0) throw new Error("it took less than nothing");
      if (again === 0 || !canKeepWatching(turn)) return result;
      again -= 1;
      save(resumeTurn(turn, now));
      state = FRESH_POLL_STATE;
      continue;
    }
    if (turn.stage.name === "accepted" || turn.stage.name === "submitting") {
      attempt += 1;
      save(beforeSubmit(turn, { now, policy, honorsKeys, prompt: `prompt ${attempt}` }));
      if (turn.stage.name !== "submitting") continue;
      // The intent was saved, the request was not sent.
      if (step.crash === "before the request") continue;
      const create: Create = { at: now, prompt: turn.stage.prompt ?? "", end: "lost" };
      result.creates.push(create);
      now += step.tookMs;
      if (step.crash === "before the answer is saved") continue;
      const after = afterSubmit(turn, step.answer, { now, attempt, random: step.random, policy, honorsKeys });
      if (step.answer.ok || step.answer.fault.kind !== "unknown") create.end = "settled";
      if (!step.answer.ok && step.answer.fault.kind === "not-created") create.end = "not-created";
      save(after.turn);
      const { name } = after.turn.stage;
      if (name === "watching") {
        result.watchingSince = now;
        now += policy.minMs;
      }
      expect(after.afterMs === null).toBe(name === "watching" || name === "ended");
      now += after.afterMs ?? 0;
      continue;
    }
    save(expireTurn(turn, now, policy));
    if (turn.stage.name !== "watching") continue;
    if (step.crash === "before the request") continue;
    if (turn.watch === 1) result.pollsAt.push(now);
    if (step.crash === "before the answer is saved") {
      if (turn.watch === 1) result.crashedPollsAt.push(now);
      continue;
    }
    now += step.tookMs;
    state = pollStateAfter(state, step.answer, now);
    save(turnAfterPoll(turn, state, step.answer, now));
    if (turn.stage.name !== "watching") continue;
    const retryAfterMs = step.answer.ok ? 0 : (step.answer.fault.retryAfterMs ?? 0);
    const dueAt = nextPollAt(turn, state, { now, retryAfterMs, random: step.random, policy });
    const deadline = deadlineOf(turn, policy);
    if (dueAt < now || (now < deadline && dueAt > deadline)) throw new Error(`due at ${dueAt}`);
    now = dueAt;
  }
  throw new Error("the turn never ended");
}

it("ends every watch in exactly one outcome, whatever the service answers, whenever the process dies and however the clock is set", () => {
  fc.assert(
    fc.property(
      policies,
      fc.array(stepsOnAnyClock, { maxLength: 60 }),
      fc.boolean(),
      fc.integer({ min: 0, max: 3 }),
      (policy, given, honorsKeys, again) => {
        const { outcomes } = run(policy, given, { honorsKeys, again });
        expect(outcomes.length).toBeGreaterThanOrEqual(1);
        expect(outcomes.length).toBeLessThanOrEqual(1 + again);
        // Only a watch that left the job's end open is followed by another.
        const open = outcomes.slice(0, -1).map(({ kind }) => kind);
        expect(open.filter((kind) => !["expired", "missing", "unknown", "rejected"].includes(kind))).toEqual(
          [],
        );
      },
    ),
  );
});

it("never polls faster than the floor, and never after the deadline", () => {
  fc.assert(
    fc.property(policies, fc.array(steps, { maxLength: 60 }), (policy, given) => {
      const { pollsAt, crashedPollsAt, watchingSince } = run(policy, given);
      for (const [index, at] of pollsAt.entries()) {
        const before = index === 0 ? (watchingSince ?? 0) : (pollsAt[index - 1] ?? 0);
        expect(at).toBeLessThan((watchingSince ?? 0) + policy.deadlineMs);
        // A poll whose answer was lost in a crash is asked again after the restart.
        if (index > 0 && crashedPollsAt.includes(before)) continue;
        expect(at - before).toBeGreaterThanOrEqual(policy.minMs);
      }
    }),
  );
});

it("sends a second create only after an answer that says the first had no effect", () => {
  fc.assert(
    fc.property(policies, fc.array(steps, { maxLength: 20 }), (policy, given) => {
      const { creates, outcomes } = run(policy, given);
      expect(creates.slice(0, -1).filter(({ end }) => end !== "not-created")).toEqual([]);
      if (creates.at(-1)?.end === "lost") expect(outcomes.map(({ kind }) => kind)).toEqual(["unknown"]);
    }),
  );
});

it("repeats a lost create at a service that honors keys, in the same words, for as long as keys last", () => {
  fc.assert(
    fc.property(policies, fc.array(steps, { maxLength: 20 }), (policy, given) => {
      const { creates, outcomes } = run(policy, given, { honorsKeys: true });
      expect(creates.slice(0, -1).filter(({ end }) => end === "settled")).toEqual([]);
      const lost = creates.findIndex(({ end }) => end === "lost");
      if (lost === -1) return;
      const repeats = creates.slice(lost);
      expect(new Set(repeats.map(({ prompt }) => prompt)).size).toBe(1);
      for (const { at } of repeats.slice(1)) expect(at).toBeLessThan(policy.deadlineMs);
      // Whatever ends it without a job, an earlier create may have made one.
      const [{ kind, job } = { kind: null, job: null }] = outcomes;
      if (job === null) expect(kind).toBe("unknown");
    }),
  );
});
