import type { MessageOf } from "../src/app/rules/ports/notifier.ts";
import { ANA, BEN, NOON, makeUpOutcome, makeUpTurn } from "./made-up.ts";

type Notice = MessageOf<"overdue">;

const turn = makeUpTurn({ name: "watching", since: NOON, troubleSince: null });
const ended = makeUpTurn({ name: "ended", outcome: makeUpOutcome({}), at: NOON });
const overdue = { afterMs: 25 * 60_000 + 12_000, usualMs: 6 * 60_000 };
const notice: Notice = { kind: "overdue", turn, overdue, movedBecause: null };

/** Samples of the notice that a turn takes longer than usual, also after the turn has ended. */
export const overdueSamples: [string, Notice][] = [
  ["overdue", notice],
  ["overdue, without a mention", { ...notice, muted: [ANA] }],
  [
    "overdue, longest",
    { ...notice, overdue: { afterMs: 9e8, usualMs: 1e8 }, movedBecause: "not_in_channel" },
  ],
  ["overdue, stopping", { ...notice, turn: { ...turn, stop: { userId: BEN, at: NOON } } }],
  ["was overdue", { ...notice, turn: ended }],
];
