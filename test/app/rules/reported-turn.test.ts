import { describe, expect, it } from "vitest";
import type { JobServiceAnswer } from "../../../src/app/rules/ports/job-service.ts";
import { Outcome, outcomeKindOf } from "../../../src/app/rules/turn/outcome.ts";
import { isOnlyStepNew, statusKey } from "../../../src/app/rules/words/status-text.ts";
import { type Turn, turnPrLink } from "../../../src/app/rules/turn/turn.ts";
import { turnAfterAnswer } from "../../../src/app/rules/turn/turn-after-answer.ts";
import { ownTurn, keptTurn } from "../../../src/app/rules/turn/reported-turn.ts";
import { found, makeJob, makeOutcome, makeReported, makeTurn } from "../../support/builders.ts";

const watched = makeTurn({ job: makeJob(), stage: { name: "watching", since: 1, troubleSince: null } });
const running = (step: string | null) =>
  found(makeJob(), makeReported({ status: "running", outcome: null, step }));

describe("the turn of the record that is ours", () => {
  it("is that of its number, whatever else the job was asked", () => {
    const answer: JobServiceAnswer = {
      ...found(),
      level: 1,
      report: {
        turns: [makeReported({ summary: "ours" }), makeReported({ number: 2, summary: "theirs" })],
        questions: null,
      },
    };
    expect(ownTurn(answer, 1)?.summary).toBe("ours");
    expect(ownTurn(answer, 2)?.summary).toBe("theirs");
    expect([ownTurn(answer, 3), ownTurn(answer, null)]).toEqual([null, null]);
    const later = { turns: [makeReported({ number: 2 })], questions: null };
    expect(ownTurn({ ...answer, report: later }, 1)).toBeNull();
  });

  it("is not looked for where the service speaks only the contract", () => {
    const answer = { ...found(makeJob(), makeReported()), level: 0 as const };
    expect(ownTurn(answer, 1)).toBeNull();
    expect(turnAfterAnswer(watched, answer, 9)).toBe(watched);
  });
});

describe("how a turn ended", () => {
  it.each([
    ["pull-request", "active", "pull-request"],
    ["pull-request", "archived", "pull-request"],
    ["no-changes", "active", "no-changes"],
    ["branch", "completed", "no-changes"],
    ["cancelled", "failed", "failed"],
    ["archived", "archived", "archived"],
    [null, "active", null],
    [null, "failed", "failed"],
  ] as const)("is told by the turn (%s) before its job (%s): %s", (outcome, status, kind) => {
    expect(outcomeKindOf(makeJob({ status }), makeReported({ outcome }))).toBe(kind);
  });

  it("is not told by a turn that has not ended", () => {
    const reported = makeReported({ status: "running" });
    expect(outcomeKindOf(makeJob(), reported)).toBeNull();
    const { stage } = turnAfterAnswer(watched, found(makeJob({ status: "failed" }), reported), 9);
    expect(stage).toMatchObject({ name: "ended", outcome: { kind: "failed" } });
    expect(stage.name === "ended" && "told" in stage.outcome).toBe(false);
  });

  it.each([
    ["has ended somehow", "ended", [0, 0]],
    ["runs, though the job is over for a minute", "running", [0, 60_000]],
  ] as const)(
    "is not told by the job if the turn %s and there is a later one",
    (_, status, [first, last]) => {
      const told = found(makeJob({ status: "completed", prLink: "https://github.com/acme/docs/pull/7" }), {
        ...makeReported({ number: 1, status, outcome: null, pullRequest: null }),
      });
      const turns = [...(told.report?.turns ?? []), makeReported({ number: 2 })];
      const answer = { ...told, report: { turns, questions: null } };
      const { stage } = turnAfterAnswer(turnAfterAnswer(watched, answer, first), answer, last);
      expect(stage).toMatchObject({ name: "ended", outcome: { kind: "unknown", isPassed: true } });
      expect(turnPrLink({ ...watched, stage })).toBeNull();
    },
  );
});

describe("what is kept", () => {
  it("is bounded, whatever is sent", () => {
    const long = "word ".repeat(4000);
    const kept = keptTurn(
      makeReported({
        reason: long,
        summary: long,
        branch: long,
        pullRequest: { ...makeReported().pullRequest!, url: `https://x.example/${long}`, title: long },
      }),
    );
    expect(JSON.stringify(kept).length).toBeLessThan(5000);
  });

  it.each([
    ["Correct the install command", null],
    ["# Correct the install command\n\nTwo pages.", "Two pages."],
    ["**Correct the install command**\nTwo pages.", "Two pages."],
    ["Correct the install command everywhere", "Correct the install command everywhere"],
    [" \n ", null],
  ])("of the summary %j, beside the title, is %j", (summary, kept) => {
    expect(keptTurn(makeReported({ summary }))?.summary).toBe(kept);
  });

  it("is found in a line of a megabyte without taking minutes", () => {
    const summary = `x${" ".repeat(1024 ** 2)}x`;
    expect(keptTurn(makeReported({ summary }))?.summary).toBe("x x");
  });

  it("outlives a version that knows more, and one that knows less", () => {
    const newer = { ...keptTurn(makeReported()), outcome: "teleported", mood: "good" };
    const kept = Outcome.parse({ ...makeOutcome(), told: newer });
    expect(kept.told).toEqual(newer);
    // As versions before this one wrote it.
    const { told: _, ...older } = Outcome.parse(makeOutcome());
    expect(Outcome.parse(older)).toEqual(older);
  });
});

describe("the latest step", () => {
  it("changes what is shown, but not the state", () => {
    const shown = (turn: Turn): Turn => ({
      ...turn,
      delivery: { ...turn.delivery, shown: statusKey(turn) },
    });
    const begun = shown(turnAfterAnswer(watched, running(null), 9));
    expect(isOnlyStepNew(begun)).toBe(false);
    const first = turnAfterAnswer(begun, running("Read: a.md"), 9);
    expect([isOnlyStepNew(first), statusKey(first)]).toEqual([true, "watching-1: Read: a.md"]);
    expect(turnAfterAnswer(first, running("Read: a.md"), 10)).toBe(first);
    expect(isOnlyStepNew(turnAfterAnswer(shown(first), running(null), 9))).toBe(true);
    const ended = turnAfterAnswer(shown(first), found(makeJob({ status: "completed" })), 9);
    expect(isOnlyStepNew(ended)).toBe(false);
    expect(isOnlyStepNew(first) && isOnlyStepNew({ ...first, watch: 2 })).toBe(false);
  });
});
