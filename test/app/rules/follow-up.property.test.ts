import fc from "fast-check";
import { expect, it } from "vitest";
import type { KnownJob, KnownTurn } from "../../../src/app/rules/known-job.ts";
import { pullRequestAfter, withPrBefore } from "../../../src/app/rules/thread/follow-up.ts";
import { endingOf, updateOf } from "../../../src/app/rules/turn/outcome.ts";
import { afterSubmit, beforeSubmit } from "../../../src/app/rules/turn/submitting.ts";
import { endTurn, newTurn, stopTurn, watchingFrom } from "../../../src/app/rules/turn/turn.ts";
import { turnAfterCancel } from "../../../src/app/rules/turn/turn-after-answer.ts";
import type { Turn } from "../../../src/app/rules/turn/turn.ts";
import { FRESH_POLL_STATE, pollStateAfter, turnAfterPoll } from "../../../src/app/rules/turn/watching.ts";
import type { Polled } from "../../../src/app/rules/turn/watching.ts";
import { found, makeJob, makeReported, makeRequest } from "../../support/builders.ts";

const policy = { minMs: 1000, maxMs: 10_000, deadlineMs: 86_400_000 };
const PR = "https://github.com/acme/docs/pull/7";
const GRACE_MS = 60_000;

/** How a job's turns end, and what the service's record says between a message and the next end. */
const ends = fc.record({
  status: fc.constantFrom("completed", "failed"),
  prLink: fc.constantFrom(null, PR, "https://github.com/acme/docs/pull/8"),
});
type End = { status: "completed" | "failed"; prLink: string | null };

const stories = fc.record({
  /** The turn before. */
  first: ends,
  /** The follow-up. */
  second: ends,
  /** When the follow-up ends, after its message was answered. */
  endsAfterMs: fc.integer({ min: 0, max: 300_000 }),
  /** For so long after that answer polls may still show what was before it: as long as the grace lasts at most. */
  staleForMs: fc.integer({ min: 0, max: GRACE_MS - 1 }),
  /** Pauses between polls, and whether each may be a stale one. */
  polls: fc.array(fc.record({ afterMs: fc.integer({ min: 1, max: 30_000 }), isStale: fc.boolean() }), {
    minLength: 30,
    maxLength: 60,
  }),
  tellsTurns: fc.boolean(),
  isAnsweredStale: fc.boolean(),
});

function recordOf(end: End | null, before: End): KnownJob {
  return end === null ? makeJob({ status: "active", prLink: before.prLink }) : makeJob(end);
}

function told(number: number, end: End | null): KnownTurn {
  if (end === null) return makeReported({ number, status: "running", outcome: null, pullRequest: null });
  const outcome = end.status === "failed" ? "failed" : end.prLink === null ? "no-changes" : "pull-request";
  return makeReported({ number, outcome, summary: `turn ${number}`, pullRequest: null });
}

/** The follow-up and when it ended, by the app, on a service that does what the story says. */
function follow(story: typeof stories extends fc.Arbitrary<infer T> ? T : never): { turn: Turn; at: number } {
  const { first, second, endsAfterMs, staleForMs, polls, tellsTurns } = story;
  const before: Turn = endTurn(newTurn(makeRequest({ id: "1" })), outcomeOf(first), 0, {
    job: makeJob(first),
  });
  const request = makeRequest({ id: "2", follows: { turnId: "1" } });
  const answerAt = (now: number, isStale: boolean) => {
    const end = isStale ? first : now >= endsAfterMs ? second : null;
    const turns = [told(1, first), ...(isStale ? [] : [told(2, end)])];
    const job = recordOf(end, first);
    if (!tellsTurns) return found(job);
    return { ...found(job, told(1, first)), report: { turns, questions: null } };
  };
  const honorsKeys = false;
  const sent = beforeSubmit(newTurn(request), { now: 0, policy, honorsKeys, prompt: "" });
  // Where turns are told, the answer to a message tells of it.
  const answer = answerAt(0, story.isAnsweredStale && !tellsTurns);
  const at = { now: 0, attempt: 1, random: 0.5, policy, honorsKeys, before: makeJob(first) };
  let { turn } = afterSubmit(sent, answer, at);
  let now = 0;
  let state = FRESH_POLL_STATE;
  // Who has seen the new does not see the old again.
  let mayBeStale = true;
  for (const { afterMs, isStale } of [
    ...polls,
    ...Array.from({ length: 20 }, () => ({ afterMs: 30_000, isStale: false })),
  ]) {
    if (turn.stage.name === "ended") break;
    now += afterMs;
    mayBeStale &&= isStale && now < staleForMs;
    const polled = answerAt(now, mayBeStale);
    state = pollStateAfter(state, polled, now);
    turn = turnAfterPoll(turn, state, polled, now);
  }
  return { turn: withPrBefore(turn, pullRequestAfter(undefined, before)), at: now };
}

function outcomeOf({ status, prLink }: End) {
  if (status === "failed") return "failed";
  return prLink === null ? "no-changes" : "pull-request";
}

it("a follow-up ends with its own outcome, once, whatever polls still show of the turn before, and says no more than is known", () => {
  fc.assert(
    fc.property(stories, (story) => {
      const { turn, at } = follow(story);
      const { first, second, endsAfterMs, tellsTurns } = story;
      if (turn.stage.name !== "ended") throw new Error("it never ended");
      const { outcome } = turn.stage;
      const isAlike = first.status === second.status && first.prLink === second.prLink;
      // The turn before's is never taken for it, except where nobody could tell them apart after the grace.
      if (tellsTurns || !isAlike)
        expect([outcome.kind, at >= endsAfterMs]).toEqual([outcomeOf(second), true]);
      else expect(at >= endsAfterMs || at >= GRACE_MS).toBe(true);
      if (outcome.kind !== "pull-request") return;
      const isSame = first.prLink !== null && first.prLink === second.prLink;
      expect(updateOf(outcome)).toBe(isSame ? (tellsTurns ? "updated" : "maybe-updated") : null);
    }),
  );
});

/** A job's two turns at work one after the other, at a service that only has the job's record. */
const pairs = fc.record({
  first: ends,
  second: ends,
  /** When the first ends, by itself or because it is stopped. */
  firstEndsAt: fc.integer({ min: 1_000, max: 200_000 }),
  /** For so long the record shows that end before the second begins. */
  pauseMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 100_000 })),
  secondTakesMs: fc.integer({ min: 1, max: 200_000 }),
  /** The cancel of the first ends it. Its answer is lost or comes only so much later. */
  stop: fc.option(fc.record({ lateMs: fc.integer({ min: 0, max: 300_000 }) })),
  gapsMs: fc.array(fc.integer({ min: 1, max: 50_000 }), { minLength: 60, maxLength: 60 }),
});

/** Both turns in the end, as polls of the job leave them. */
function followBoth(pair: typeof pairs extends fc.Arbitrary<infer T> ? T : never): [Turn, Turn] {
  const { first, second, firstEndsAt, pauseMs, secondTakesMs, stop, gapsMs } = pair;
  const endsAt = firstEndsAt + pauseMs + secondTakesMs;
  const answerAt = (now: number) => {
    if (now < firstEndsAt) return found(makeJob({ status: "active" }));
    if (now >= endsAt) return found(makeJob(second));
    return found(now < firstEndsAt + pauseMs ? makeJob(first) : makeJob({ ...first, status: "active" }));
  };
  let one: Turn = { ...newTurn(makeRequest({ id: "1" })), job: makeJob(), stage: watchingFrom(0) };
  const sent = beforeSubmit(newTurn(makeRequest({ id: "2", follows: { turnId: "1" } })), {
    now: 0,
    policy,
    honorsKeys: false,
    prompt: "",
  });
  const at = { now: 0, attempt: 1, random: 0.5, policy, honorsKeys: false, before: makeJob() };
  let two = afterSubmit(sent, answerAt(0), at).turn;
  let now = 0;
  for (const gapMs of [...gapsMs, ...Array.from({ length: 20 }, () => 30_000)]) {
    now += gapMs;
    const answer = answerAt(now);
    if (stop !== null && now >= firstEndsAt) one = stopTurn(one, { userId: "U9", at: firstEndsAt });
    if (stop !== null && now >= firstEndsAt + stop.lateMs) one = turnAfterCancel(one, answer, now, false);
    const earlier: Polled[] = [];
    const poll = (turn: Turn, isLast: boolean) => {
      const next = turnAfterPoll(turn, FRESH_POLL_STATE, answer, now, { earlier, isLast });
      // Ended turns are no longer among the job's open ones.
      if (turn.stage.name === "watching") earlier.push({ turn, next });
      return next;
    };
    one = poll(one, false);
    two = poll(two, true);
  }
  return [one, two];
}

it("of two turns at a service that doesn't tell them apart, neither is told how the other ended", () => {
  const endings = new Set<string>();
  fc.assert(
    fc.property(pairs, (pair) => {
      const [one, two] = followBoth(pair);
      if (one.stage.name !== "ended" || two.stage.name !== "ended") throw new Error("it never ended");
      const ending = endingOf(one.stage.outcome);
      endings.add(ending);
      const { kind, job } = one.stage.outcome;
      if (ending === "canceled") expect([pair.stop, one.stage.outcome.stoppedBy]).toEqual([pair.stop, "U9"]);
      else if (ending === "passed") expect(job?.prLink).toBeNull();
      else expect([kind, job?.prLink]).toEqual([outcomeOf(pair.first), pair.first.prLink]);
      // After the grace, nobody can know that the second has yet to begin.
      if (pair.pauseMs < GRACE_MS) expect(two.stage.outcome.kind).toBe(outcomeOf(pair.second));
      if (pair.stop?.lateMs === 0) expect(ending).toBe("canceled");
    }),
    { numRuns: 2000 },
  );
  expect([...endings].toSorted()).toEqual(["canceled", "failed", "no-changes", "passed", "pull-request"]);
});
