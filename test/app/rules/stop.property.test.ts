import fc from "fast-check";
import { expect, it } from "vitest";
import { endingOf } from "../../../src/app/rules/turn/outcome.ts";
import { isOpen } from "../../../src/app/rules/thread/question.ts";
import { isAsking, stopTurn, unwatchTurn } from "../../../src/app/rules/turn/turn.ts";
import { turnAfterCancel } from "../../../src/app/rules/turn/turn-after-answer.ts";
import { afterSubmit, beforeSubmit } from "../../../src/app/rules/turn/submitting.ts";
import type { Turn } from "../../../src/app/rules/turn/turn.ts";
import { FRESH_POLL_STATE, turnAfterPoll } from "../../../src/app/rules/turn/watching.ts";
import { fault, found, makeJob, makeReported, makeTurn } from "../../support/builders.ts";

const MINUTE_MS = 60_000;
const policy = { minMs: 1000, maxMs: 10_000, deadlineMs: 86_400_000 };

/** What can happen to a turn, in any order: the tasks see it as it is then, whatever it was when they began. */
const events = fc.oneof(
  fc.record({ kind: fc.constant("stop" as const), userId: fc.constantFrom("U1", "U2", "U3") }),
  fc.record({ kind: fc.constant("send" as const), honorsKeys: fc.boolean() }),
  fc.record({
    kind: fc.constant("answer" as const),
    answer: fc.constantFrom("ok", "not-created", "unknown", "missing", "rejected"),
    honorsKeys: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant("poll" as const),
    says: fc.constantFrom("active", "completed", "failed", "cancelled"),
    isTold: fc.boolean(),
    isLast: fc.boolean(),
  }),
  fc.record({ kind: fc.constant("cancel" as const), isTold: fc.boolean() }),
  fc.record({ kind: fc.constant("cannot-cancel" as const) }),
);
type Event = typeof events extends fc.Arbitrary<infer T> ? T : never;

function seen(says: "active" | "completed" | "failed" | "cancelled", isTold: boolean) {
  const job = makeJob({ status: says === "cancelled" ? "failed" : says });
  if (!isTold) return found(job);
  if (says === "active") {
    const turns = [makeReported({ status: "running", outcome: null })];
    const questions = [{ id: "q", turn: 1, text: "?", choices: [], allowsText: true, answeredAt: null }];
    return { ...found(job), level: 1 as const, report: { turns, questions } };
  }
  const outcome = says === "completed" ? "no-changes" : says;
  return found(job, makeReported({ outcome, pullRequest: null }));
}

function next(turn: Turn, event: Event, now: number): Turn {
  switch (event.kind) {
    case "stop":
      return stopTurn(turn, { userId: event.userId, at: now });
    case "send":
      return beforeSubmit(turn, { now, policy, honorsKeys: event.honorsKeys, prompt: "" });
    case "answer": {
      const answer = event.answer === "ok" ? found() : fault(event.answer);
      const at = { now, attempt: 1, random: 0.5, policy, honorsKeys: event.honorsKeys };
      return afterSubmit(turn, answer, at).turn;
    }
    case "poll":
      return turnAfterPoll(turn, FRESH_POLL_STATE, seen(event.says, event.isTold), now * MINUTE_MS, {
        isLast: event.isLast,
      });
    case "cancel":
      return turnAfterCancel(turn, seen(event.isTold ? "cancelled" : "active", event.isTold), now);
    case "cannot-cancel":
      return unwatchTurn(turn, now);
  }
}

it("whatever else happens: the first to stop a turn is who stopped it, what was not sent never is, and an end stays", () => {
  const endings = new Set<string>();
  fc.assert(
    fc.property(fc.array(events, { minLength: 1, maxLength: 12 }), (story) => {
      let turn = makeTurn();
      let first: string | undefined;
      for (const [at, event] of story.entries()) {
        const before = turn;
        turn = next(before, event, at);
        if (event.kind === "stop" && before.stage.name !== "ended") first ??= event.userId;
        if (before.stage.name === "ended") expect(turn).toBe(before);
        if (turn.stop !== undefined) expect(turn.stop.userId).toBe(first);
        // Whatever the service goes on to say of its question.
        if (turn.stop !== undefined)
          expect([isAsking(turn), turn.questions?.some(isOpen)]).not.toContain(true);
        if (isAsking(turn)) endings.add("asking");
        if (turn.stage.name === "accepted") expect(turn.stop).toBeUndefined();
        // A new create only goes out for a turn that nobody had stopped.
        if (event.kind === "send" && before.stage.name === "accepted" && turn.stage.name === "submitting") {
          expect(first).toBeUndefined();
        }
        if (turn.stage.name !== "ended" || before.stage.name === "ended") continue;
        const { outcome } = turn.stage;
        const ending = endingOf(outcome);
        endings.add(ending);
        if (outcome.stoppedBy !== undefined) expect(outcome.stoppedBy).toBe(first);
        // Its own end stands: only where the service says so, or took the cancel, was it stopped.
        if (event.kind === "poll" && event.says === "completed" && event.isTold)
          expect(ending).toBe("no-changes");
        if (event.kind === "poll" && event.says === "completed" && !event.isTold && event.isLast)
          expect(ending).toBe(before.stop?.isTaken === true ? "canceled" : "no-changes");
        // The job's record alone says nothing of a turn that isn't its last, or that was stopped.
        if (event.kind === "poll" && !event.isTold && before.stop?.isTaken === true)
          expect(ending).toBe("canceled");
        if (event.kind === "poll" && event.says === "failed" && event.isTold) expect(ending).toBe("failed");
        if (ending === "withdrawn") {
          expect([outcome.job, first]).toEqual([null, outcome.stoppedBy]);
        }
        if (ending === "unwatched") expect([event.kind, outcome.stoppedBy]).toEqual(["cannot-cancel", first]);
      }
    }),
    { numRuns: 5000 },
  );
  // Each of them was come to.
  expect([...endings].toSorted()).toEqual(
    [
      "asking",
      "canceled",
      "failed",
      "no-changes",
      "passed",
      "rejected",
      "unknown",
      "unwatched",
      "withdrawn",
    ].toSorted(),
  );
});
