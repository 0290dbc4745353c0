import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  historyAppends,
  isNoticeDue,
  overdueKey,
  usualOf,
  withOverdue,
} from "../../../src/app/rules/turn/overdue.ts";
import {
  pauseAfter,
  pausedMs,
  Turn,
  endTurn,
  resumeTurn,
  watchingFrom,
} from "../../../src/app/rules/turn/turn.ts";
import type { Pause } from "../../../src/app/rules/turn/turn.ts";
import { makeJob, makeTurn } from "../../support/builders.ts";

const MINUTE_MS = 60_000;
const took = fc.integer({ min: 0, max: 24 * 60 * MINUTE_MS });

function watched(over: Partial<Turn> = {}): Turn {
  return makeTurn({ stage: watchingFrom(0), job: makeJob(), ...over });
}

/** What the history of a project holds after turns that took so long. */
function historyAfter(all: readonly number[]): string[] {
  const turn = watched();
  const appends = all.flatMap((now) =>
    historyAppends(turn.request.project, [{ turn, next: endTurn(turn, "no-changes", now) }], 1),
  );
  return appends.map(({ entry }) => entry).slice(-(appends[0]?.keep ?? 1));
}

describe("what is usual", () => {
  it("comes of the newest fifty; never of less than five; at most a tenth of them would have been overdue", () => {
    fc.assert(
      fc.property(fc.array(took, { maxLength: 70 }), (all) => {
        const history = historyAfter(all);
        const newest = all.slice(-50);
        expect(history.map(Number)).toEqual(newest);
        const usual = usualOf(history);
        expect(usual === null).toBe(all.length < 5);
        if (usual === null) return;
        const slower = newest.filter((ms) => ms > usual.usualMs).length;
        const faster = newest.filter((ms) => ms < usual.usualMs).length;
        expect(Math.max(slower, faster)).toBeLessThanOrEqual(newest.length / 2);
        expect(newest.filter((ms) => ms > usual.limitMs / 2).length).toBeLessThanOrEqual(newest.length / 10);
        expect(usual.limitMs).toBeGreaterThanOrEqual(Math.max(5 * MINUTE_MS, 3 * usual.usualMs));
        // The order says nothing.
        expect(usualOf(history.toReversed())).toEqual(usual);
      }),
    );
  });

  it("is not learned from turns without a result, or whose end or start isn't known", () => {
    const turn = watched();
    const { project } = turn.request;
    const waiting = watched({ stage: { ...watchingFrom(0), pause: { totalMs: 0, since: 0 } } });
    const trouble = watched({ stage: { ...watchingFrom(0), troubleSince: 5 } });
    const again = resumeTurn(endTurn(turn, "expired", 5), 6);
    const cases: [Turn, Turn][] = [
      [turn, endTurn(turn, "failed", 9)],
      [turn, endTurn(turn, "archived", 9)],
      [turn, endTurn(turn, "expired", 9)],
      [turn, endTurn(turn, "no-changes", 9, { stoppedBy: "U1" })],
      [waiting, endTurn(waiting, "pull-request", 9)],
      [trouble, endTurn(trouble, "pull-request", 9)],
      [again, endTurn(again, "pull-request", 9)],
    ];
    for (const [before, next] of cases)
      expect(historyAppends(project, [{ turn: before, next }], 1)).toEqual([]);
    const ended = endTurn(turn, "pull-request", 9);
    const both = [turn, turn].map((each) => ({ turn: each, next: ended }));
    expect(historyAppends(project, both, 1).map(({ entry }) => entry)).toEqual(["9", "9"]);
  });
});

describe("a turn", () => {
  const usual = { usualMs: 6 * MINUTE_MS, limitMs: 18 * MINUTE_MS };

  it("is overdue when its agent has worked for longer than the limit, pauses left out, and stays so", () => {
    const pauses = fc.array(fc.tuple(fc.integer({ min: 0, max: 600_000 }), fc.boolean()), { maxLength: 20 });
    fc.assert(
      fc.property(pauses, fc.integer({ min: 0, max: 60 * MINUTE_MS }), (changes, more) => {
        let now = 0;
        let worked = 0;
        let isAtWork = true;
        let pause: Pause | undefined;
        for (const [ms, next] of [...changes, [more, true] as const]) {
          now += ms;
          worked += isAtWork ? ms : 0;
          const after = pauseAfter(pause, next, now);
          expect(pauseAfter(after, next, now + 5)).toBe(after);
          pause = after;
          isAtWork = next;
        }
        expect(now - pausedMs(pause, now)).toBe(worked);
        const stage = { ...watchingFrom(0), ...(pause === undefined ? {} : { pause }) };
        const turn = withOverdue(watched({ stage }), usual, now);
        expect(turn.overdue?.afterMs).toBe(worked > usual.limitMs ? worked : undefined);
        expect(isNoticeDue(turn)).toBe(turn.overdue !== undefined);
        // A poll that is delivered again, or a later one, changes nothing of it.
        if (turn.overdue !== undefined) expect(withOverdue(turn, usual, now + more)).toBe(turn);
        expect(Turn.parse(structuredClone(turn))).toEqual(turn);
      }),
    );
  });

  it("isn't overdue where nothing is usual, while it is asking, stopping or out of reach, nor once it has ended", () => {
    const now = 60 * MINUTE_MS;
    const question = { id: "q", number: 1, text: "?", choices: [], moreChoices: 0, allowsText: true };
    const turns = [
      watched({ questions: [question] }),
      watched({ stop: { userId: "U1", at: 5 } }),
      watched({ watch: 2 }),
      watched({ stage: { ...watchingFrom(0), troubleSince: 5 } }),
      watched({ stage: { ...watchingFrom(0), pause: { totalMs: 0, since: 59 * MINUTE_MS } } }),
      endTurn(watched(), "failed", now),
    ];
    for (const turn of turns) expect(withOverdue(turn, usual, now)).toBe(turn);
    expect(withOverdue(watched(), null, now).overdue).toBeUndefined();
    const turn = withOverdue(watched(), usual, now);
    expect(overdueKey(turn)).toBe("open");
    // It ended before the notice was posted.
    expect(isNoticeDue(endTurn(turn, "failed", now))).toBe(false);
  });
});
