import { describe, expect, it } from "vitest";
import type { JobServiceAnswer } from "../../../src/app/rules/ports/job-service.ts";
import { OutcomeKind } from "../../../src/app/rules/turn/outcome.ts";
import { afterSubmit, beforeSubmit, knownPrompt } from "../../../src/app/rules/turn/submitting.ts";
import {
  canKeepWatching,
  deadlineOf,
  endTurn,
  keepTurnMs,
  newTurn,
  pressButton,
  resumeTurn,
} from "../../../src/app/rules/turn/turn.ts";
import type { Turn } from "../../../src/app/rules/turn/turn.ts";
import {
  fault,
  found,
  makeJob,
  makeReported,
  makeOutcome,
  makeQuoted,
  makeRequest,
  makeTurn,
} from "../../support/builders.ts";

const DAY_MS = 24 * 60 * 60_000;
const policy = { minMs: 5000, maxMs: 60_000, deadlineMs: DAY_MS };
const RECEIVED_AT = 1_000_000;
const accepted = newTurn(makeRequest({ receivedAt: RECEIVED_AT }));

type At = { now?: number; honorsKeys?: boolean; attempt?: number; prompt?: string };

function before(turn: Turn, { now = RECEIVED_AT, honorsKeys = false, prompt = "composed" }: At = {}): Turn {
  return beforeSubmit(turn, { now, policy, honorsKeys, prompt });
}

function after(turn: Turn, answer: JobServiceAnswer, at: At = {}) {
  const { now = RECEIVED_AT, honorsKeys = false, attempt = 1 } = at;
  return afterSubmit(turn, answer, { now, attempt, random: 0.5, policy, honorsKeys });
}

/** A create that is on its way. */
const submitting = before(accepted);
/** One that is sent again after its answer was lost, to a service that honors keys. */
const repeated = before(after(submitting, fault("unknown"), { honorsKeys: true }).turn, { honorsKeys: true });

function outcomeOf({ stage }: Turn): unknown {
  return stage.name === "ended" ? [stage.outcome.kind, stage.outcome.reason] : stage.name;
}

describe("a turn", () => {
  it("goes from accepted over submitting to watching when its create is answered", () => {
    expect(accepted.stage).toEqual({ name: "accepted", waitingSince: null });
    expect(submitting.stage).toMatchObject({ name: "submitting", waitingSince: null, isRepeat: false });
    const { turn, afterMs } = after(submitting, found(), { now: RECEIVED_AT + 700 });
    expect(afterMs).toBeNull();
    expect(turn.job).toEqual(makeJob());
    expect(turn.stage).toEqual({ name: "watching", since: RECEIVED_AT + 700, troubleSince: null });
  });

  it("ends at once when the create is answered with a job that has ended", () => {
    const prLink = "https://github.com/acme/docs/pull/7";
    const { turn } = after(submitting, found(makeJob({ status: "completed", prLink })));
    expect(outcomeOf(turn)).toEqual(["pull-request", null]);
    expect(turn.stage).toMatchObject({ outcome: { job: { prLink } } });
  });

  it("is polled for its link when the answer to its repeated create knows its end but not where", () => {
    const { turn } = after(repeated, found(makeJob(), makeReported({ pullRequest: null })));
    expect(turn.stage.name).toBe("watching");
    expect(turn.job).toEqual(makeJob());
    expect(outcomeOf(after(repeated, found(makeJob(), makeReported())).turn)).toEqual(["pull-request", null]);
  });

  it("that is watched or has ended is not created again, and no late answer changes it", () => {
    const { turn: watching } = after(submitting, found());
    const ended = endTurn(watching, "failed", 5);
    for (const turn of [watching, ended]) {
      expect(before(turn, { now: 9 * DAY_MS })).toBe(turn);
      for (const answer of [found(makeJob({ id: "job-2" })), fault("not-created"), fault("rejected")]) {
        expect(after(turn, answer)).toEqual({ turn, afterMs: null });
      }
    }
  });

  it("took as long as it took since the request, and never less than nothing", () => {
    expect(endTurn(accepted, "failed", RECEIVED_AT + 65_000).stage).toMatchObject({
      outcome: { tookMs: 65_000 },
    });
    expect(endTurn(accepted, "failed", RECEIVED_AT - 65_000).stage).toMatchObject({ outcome: { tookMs: 0 } });
  });
});

describe("a create", () => {
  it.each([
    ["unknown", undefined, ["unknown", "create-lost"]],
    ["contract", 201, ["unknown", "unreadable"]],
    ["missing", 404, ["rejected", "project"]],
    ["rejected", 401, ["rejected", "key"]],
    ["rejected", 403, ["rejected", "key"]],
    ["rejected", 400, ["rejected", "prompt"]],
    ["rejected", 413, ["rejected", "prompt"]],
    ["rejected", 422, ["rejected", "prompt"]],
    ["rejected", 418, ["rejected", "other"]],
  ] as const)("answered with %s (%s) ends the turn as %j", (kind, status, outcome) => {
    const { turn, afterMs } = after(submitting, fault(kind, status === undefined ? {} : { status }));
    expect(outcomeOf(turn)).toEqual(outcome);
    expect(afterMs).toBeNull();
  });

  it("that was refused says what the service said", () => {
    const { turn } = after(submitting, fault("rejected", { status: 400, said: "too long" }));
    expect(turn.stage).toMatchObject({ outcome: { said: "too long" } });
  });

  it("that was not taken is tried again, later each time, no sooner than the service asks", () => {
    const delays = [1, 2, 3, 10].map(
      (attempt) => after(submitting, fault("not-created"), { attempt }).afterMs,
    );
    expect(delays).toEqual([10_000, 20_000, 40_000, 60_000]);
    const asked = after(submitting, fault("not-created", { retryAfterMs: 600_000 }));
    expect(asked.afterMs).toBe(600_000);
  });

  it("that was not taken is as if it had not been sent, and the thread says since when the service takes nothing", () => {
    const first = after(submitting, fault("not-created"), { now: RECEIVED_AT + 1 }).turn;
    expect(first.stage).toEqual({ name: "accepted", waitingSince: RECEIVED_AT + 1 });
    const second = after(before(first), fault("not-created"), { now: RECEIVED_AT + 2 }).turn;
    expect(second.stage).toEqual({ name: "accepted", waitingSince: RECEIVED_AT + 1 });
  });

  it("is tried once more at the deadline at the latest, and then the turn ends as never started", () => {
    const now = RECEIVED_AT + DAY_MS - 3000;
    expect(after(submitting, fault("not-created"), { now }).afterMs).toBe(3000);
    const late = { now: RECEIVED_AT + DAY_MS };
    expect(after(submitting, fault("not-created"), { now: late.now + 5 }).afterMs).toBe(0);
    expect(outcomeOf(before(accepted, late))).toEqual(["expired", "never-started"]);
  });

  it("found on its way after a crash is not repeated where the service does not honor keys", () => {
    expect(outcomeOf(before(submitting))).toEqual(["unknown", "create-lost"]);
  });
});

describe("a create whose answer was lost, at a service that honors idempotency keys,", () => {
  const honored = { honorsKeys: true };

  it("is sent again, whether the answer or the process was lost", () => {
    expect(before(submitting, honored).stage).toMatchObject({ name: "submitting", isRepeat: true });
    const { turn, afterMs } = after(submitting, fault("unknown"), honored);
    expect(turn.stage).toMatchObject({ name: "submitting", isRepeat: true });
    expect(afterMs).toBeGreaterThan(0);
    expect(outcomeOf(after(repeated, found(), honored).turn)).toBe("watching");
  });

  it("stays open when a repeat is not taken: that says nothing of the first", () => {
    const refused = after(repeated, fault("not-created", { status: 503 }), honored).turn;
    expect(refused.stage).toMatchObject({ name: "submitting", isRepeat: true, waitingSince: RECEIVED_AT });
    // Restarted with a service that has stopped to honor keys.
    expect(outcomeOf(before(refused))).toEqual(["unknown", "create-lost"]);
  });

  it.each(["rejected", "missing"] as const)(
    "ends as unknown when a repeat is %s: the first may have made a job",
    (kind) => {
      const unavailable = after(repeated, fault("not-created", { status: 503 }), honored).turn;
      const { turn } = after(before(unavailable, honored), fault(kind, { status: 404 }), honored);
      expect(outcomeOf(turn)).toEqual(["unknown", "create-lost"]);
    },
  );

  it("is sent again for a day, as long as keys are sure to be known, whatever the deadline is", () => {
    const week = { ...policy, deadlineMs: 7 * DAY_MS };
    const at = (now: number) =>
      beforeSubmit(repeated, { now, policy: week, honorsKeys: true, prompt: "composed" });
    expect(outcomeOf(at(RECEIVED_AT + DAY_MS - 1))).toBe("submitting");
    expect(outcomeOf(at(RECEIVED_AT + DAY_MS))).toEqual(["unknown", "create-lost"]);
    const hour = { ...policy, deadlineMs: DAY_MS / 24 };
    const ended = beforeSubmit(repeated, {
      now: RECEIVED_AT + DAY_MS / 24,
      policy: hour,
      honorsKeys: true,
      prompt: "composed",
    });
    expect(outcomeOf(ended)).toEqual(["unknown", "create-lost"]);
  });

  it("is sent again in the same words, though a name in them may read differently by now", () => {
    const turn = newTurn(makeRequest({ quoted: makeQuoted() }));
    const first = before(turn, { now: 0, prompt: "Written by: Ana" });
    expect(knownPrompt(first)).toBe("Written by: Ana");
    const lost = after(first, fault("unknown"), honored).turn;
    const notTaken = after(
      before(lost, { now: 0, ...honored, prompt: "Written by: U2" }),
      fault("not-created"),
    );
    expect(knownPrompt(before(notTaken.turn, { now: 0, ...honored, prompt: "Written by: U2" }))).toBe(
      "Written by: Ana",
    );
  });

  it("needs no second copy of what was typed", () => {
    expect(knownPrompt(accepted)).toBe(accepted.request.instructions);
    expect(before(accepted, { prompt: accepted.request.instructions }).stage).toMatchObject({
      prompt: undefined,
    });
    expect(knownPrompt(newTurn(makeRequest({ quoted: makeQuoted() })))).toBeNull();
  });
});

describe("a turn that ended without the job's end being known", () => {
  const job = makeJob();
  const expired = endTurn({ ...accepted, job }, "expired", 500, { reason: "deadline" });

  it.each(OutcomeKind.options)("can be watched again where there is a job that may go on: %s", (kind) => {
    const isOpen = ["expired", "unknown", "rejected"].includes(kind);
    expect(canKeepWatching(endTurn({ ...accepted, job }, kind, 500))).toBe(isOpen);
    expect(canKeepWatching(endTurn(accepted, kind, 500))).toBe(false);
  });

  it("is not watched twice", () => {
    expect(canKeepWatching(resumeTurn(expired, 600))).toBe(false);
    expect(canKeepWatching(makeTurn({ job }))).toBe(false);
  });

  it("is watched with a time of its own, and with an outcome of its own", () => {
    const resumed = resumeTurn(expired, 9 * DAY_MS);
    expect(resumed).toMatchObject({ watch: 2, job, stage: { name: "watching", since: 9 * DAY_MS } });
    expect(deadlineOf(resumed, policy)).toBe(10 * DAY_MS);
  });

  it("remembers who pressed which button", () => {
    const press = { action: "try-again", userId: "U1" } as const;
    const other = { action: "keep-watching", userId: "U2" } as const;
    expect(pressButton(pressButton(expired, 1, press), 2, other).pressed).toEqual({ 1: press, 2: other });
  });
});

describe("the record of a turn is kept", () => {
  const retentionMs = 90 * DAY_MS;
  const at = 5 * DAY_MS;
  const ended = makeTurn({ stage: { name: "ended", outcome: makeOutcome(), at } });

  it("while it is open, for longer than it can be watched", () => {
    expect(keepTurnMs(accepted, RECEIVED_AT, policy, retentionMs)).toBe(DAY_MS + retentionMs);
  });

  it("from its end on for as long as the operator wants, however often it is written", () => {
    expect(keepTurnMs(ended, at, policy, retentionMs)).toBe(retentionMs);
    expect(keepTurnMs(ended, at + DAY_MS, policy, retentionMs)).toBe(retentionMs - DAY_MS);
  });

  it("for a moment at least when its time is over", () => {
    expect(keepTurnMs(ended, at + 91 * DAY_MS, policy, retentionMs)).toBe(1);
  });
});
