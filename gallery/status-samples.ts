import type { PlanStep } from "../src/shared/contract/turn.ts";
import type { MessageOf } from "../src/app/rules/ports/notifier.ts";
import type { Outcome } from "../src/app/rules/turn/outcome.ts";
import type { Request } from "../src/app/rules/turn/request.ts";
import { progressOf } from "../src/app/rules/turn/reported-turn.ts";
import type { TurnStage } from "../src/app/rules/turn/turn.ts";
import { BEN, LONG, NOON, makeUpOutcome, makeUpReport, makeUpResult, makeUpTurn } from "./made-up.ts";
import { FOLLOWED_STATES, makeUpFollowedTurn } from "./news-samples.ts";
import { endings } from "./outcome-samples.ts";
import { askingTurn } from "./question-samples.ts";

const watching = { name: "watching", since: NOON, troubleSince: null } as const;

function at(step: string, steps: [string, PlanStep["status"]][] = []): TurnStage {
  const plan = steps.map(([text, status]) => ({ text, status }));
  const progress = progressOf(makeUpReport({ status: "running", step, plan }), NOON);
  return progress === undefined ? watching : { ...watching, progress };
}

function held(reason: string): TurnStage {
  const until = NOON + 12 * 60 * 60_000;
  const progress = progressOf(makeUpReport({ status: "waiting", held: { reason, until } }), NOON);
  return progress === undefined ? watching : { ...watching, progress };
}

function ended(outcome: Partial<Outcome>): TurnStage {
  return { name: "ended", outcome: makeUpOutcome(outcome), at: NOON };
}

/** The stages of a turn. */
const stages: Record<TurnStage["name"], [string, TurnStage][]> = {
  accepted: [
    ["accepted", { name: "accepted", waitingSince: null }],
    ["agent unavailable", { name: "accepted", waitingSince: NOON }],
    ["agent's limit reached", { name: "accepted", waitingSince: NOON, limitedUntil: NOON + 25 * 60_000 }],
  ],
  submitting: [["being sent", { name: "submitting", waitingSince: null, isRepeat: false }]],
  watching: [
    ["held until the next day", held("Today's budget of $20.00 is used up.")],
    ["held for the longest reason", held(LONG)],
    ["at work", watching],
    ["at a step", at("Edit docs/quickstart.md")],
    ["at the longest step", at(LONG)],
    [
      "with a plan",
      at("Edit docs/quickstart.md", [
        ["Find every page that names the command", "completed"],
        ["Correct the quickstart", "in-progress"],
        ["Correct the FAQ", "pending"],
      ]),
    ],
    [
      "with the longest plan",
      at(
        LONG,
        Array.from({ length: 20 }, () => [LONG, "pending"]),
      ),
    ],
    ["out of reach", { ...watching, troubleSince: NOON }],
  ],
  ended: [
    ["pull request, described", ended({ kind: "pull-request", told: makeUpResult() })],
    ...Object.entries(endings).flatMap(([ending, { short, long }]): [string, TurnStage][] => [
      [ending, ended(short)],
      [`${ending}, longest`, ended(long)],
    ]),
  ],
};

/** The ways to ask. */
const ways: Record<Request["from"], Partial<Request>> = {
  command: {},
  shortcut: { from: "shortcut", instructions: "Fix the problem this message describes." },
  mention: { from: "mention" },
  "try-again": { from: "try-again", userId: BEN },
};

const followUp = makeUpTurn(watching, {
  id: "mention:2",
  from: "mention",
  messageTs: "2.0",
  userId: BEN,
  instructions: "And in the FAQ.",
  follows: { turnId: "command:1" },
});

/** Samples of the status message. */
export const statusSamples = makeStatusSamples();

function makeStatusSamples(): [string, MessageOf<"status">][] {
  const turn = makeUpTurn(watching);
  const many = Array.from({ length: 7 }, () => ({
    ...followUp,
    stage: ended(endings["pull-request"].long),
    request: { ...followUp.request, instructions: LONG },
  }));
  const long = makeUpTurn(ended(endings["pull-request"].long), { instructions: LONG });
  const acting = makeUpTurn(watching, {
    act: "address",
    instructions: "Make the changes that maria-s asked for.",
    follows: { turnId: turn.id },
  });
  const names = Array.from({ length: 3 }, () => LONG.slice(0, 39)).join('", "');
  const actingLong = makeUpTurn(watching, {
    ...acting.request,
    instructions: `Fix the failed checks "${names}".`,
  });
  const status = (more: Partial<MessageOf<"status">>): MessageOf<"status"> => ({
    kind: "status",
    turn,
    movedBecause: null,
    ...more,
  });
  return [
    ...Object.values(stages)
      .flat()
      .map(([name, stage]): [string, MessageOf<"status">] => [name, status({ turn: makeUpTurn(stage) })]),
    ...Object.entries(ways).map(([from, request]): [string, MessageOf<"status">] => [
      `from a ${from}`,
      status({ turn: makeUpTurn(watching, request) }),
    ]),
    ...Object.entries(FOLLOWED_STATES).map(([name, state]): [string, MessageOf<"status">] => [
      `pull request ${name}`,
      status({ turn: makeUpFollowedTurn(state) }),
    ]),
    ["waiting for an answer", status({ turn: askingTurn })],
    ["of a follow-up", status({ turn: followUp })],
    ["with a follow-up", status({ followUps: [followUp] })],
    [
      "of a question, where the app only answers",
      status({ turn: makeUpTurn(watching, { changesNothing: true }) }),
    ],
    ["of an act on the pull request", status({ turn: acting })],
    ["of an act on the pull request, longest", status({ turn: actingLong })],
    [
      "of a request that is started anew",
      status({
        turn: { ...makeUpTurn(watching, { from: "mention", messageTs: "2.0" }), isStartedAnew: true },
      }),
    ],
    [
      "of a separate request",
      status({ turn: { ...makeUpTurn(watching, { from: "mention", messageTs: "2.0" }), isSeparate: true } }),
    ],
    ["longest", status({ turn: long, followUps: many, movedBecause: "not_in_channel" })],
  ];
}
