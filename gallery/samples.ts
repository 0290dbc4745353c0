import type { PlanStep } from "../src/core/job-report.ts";
import type { Message, MessageOf, Refusal } from "../src/core/notifier.ts";
import { OutcomeReason } from "../src/core/outcome.ts";
import type { Outcome, endingOf } from "../src/core/outcome.ts";
import { PROMPT_MAX_CHARS } from "../src/core/request.ts";
import type { Request } from "../src/core/request.ts";
import { progressOf } from "../src/core/told-turn.ts";
import type { TurnStage } from "../src/core/turn.ts";
import type { Rendered } from "../src/replies/blocks.ts";
import * as privateMessages from "../src/replies/private-messages.ts";
import {
  ANA,
  BEN,
  DOCS,
  LONG,
  NOON,
  longest,
  makeUpJob,
  makeUpOutcome,
  makeUpReport,
  makeUpTold,
  makeUpTurn,
} from "./made-up.ts";

import { listSamples, standingSamples } from "./list-samples.ts";
import { overdueSamples } from "./overdue-samples.ts";
import { askingTurn, questionSamples } from "./question-samples.ts";

/** One message of the app, by name: as the core has it, or, where it is said outside the core, as it is rendered. */
export type Sample = { name: string; message: Message | Rendered };

type Ending = ReturnType<typeof endingOf>;

const noJob = { job: null };
const withoutPr = { job: makeUpJob({ prLink: null }) };

/** How a turn can end, each as the shortest and the longest outcome that there is of it. A new ending needs an entry here. */
const endings: Record<Ending, { short: Partial<Outcome>; long: Partial<Outcome> }> = {
  "pull-request": {
    short: { kind: "pull-request" },
    long: { kind: "pull-request", told: makeUpTold(longest({})) },
  },
  branch: {
    short: {
      kind: "no-changes",
      ...withoutPr,
      told: makeUpTold({
        outcome: "branch",
        pullRequest: null,
        branch: "docs-agent/job-4f1c",
        summary: null,
      }),
    },
    long: {
      kind: "no-changes",
      ...withoutPr,
      told: makeUpTold({ ...longest({ outcome: "branch" }), pullRequest: null }),
    },
  },
  "no-changes": {
    short: { kind: "no-changes", ...withoutPr },
    long: {
      kind: "no-changes",
      ...withoutPr,
      told: makeUpTold({ ...longest({ outcome: "no-changes" }), pullRequest: null }),
    },
  },
  failed: {
    short: { kind: "failed", ...withoutPr },
    long: { kind: "failed", told: makeUpTold(longest({ outcome: "failed" })) },
  },
  canceled: {
    short: {
      kind: "failed",
      ...withoutPr,
      told: makeUpTold({ outcome: "cancelled", pullRequest: null, summary: null }),
    },
    long: { kind: "failed", told: makeUpTold(longest({ outcome: "cancelled" })) },
  },
  withdrawn: {
    short: { kind: "failed", ...noJob, stoppedBy: BEN },
    long: { kind: "failed", ...noJob, stoppedBy: BEN },
  },
  unwatched: {
    short: { kind: "expired", reason: "deadline", ...withoutPr, stoppedBy: BEN },
    long: { kind: "expired", reason: "deadline", stoppedBy: BEN },
  },
  archived: { short: { kind: "archived", ...withoutPr }, long: { kind: "archived" } },
  expired: {
    short: { kind: "expired", reason: "never-started", ...noJob },
    long: { kind: "expired", reason: "deadline" },
  },
  missing: { short: { kind: "missing", ...withoutPr }, long: { kind: "missing" } },
  unknown: {
    short: { kind: "unknown", reason: "create-lost", ...noJob },
    long: { kind: "unknown", reason: "unreadable" },
  },
  rejected: {
    short: { kind: "rejected", reason: "other", ...noJob },
    long: { kind: "rejected", reason: "other", said: LONG },
  },
};

/** Why a turn ended so, where that has words of its own. */
const reasons: Record<OutcomeReason, Partial<Outcome>> = {
  deadline: { kind: "expired", ...withoutPr },
  "never-started": { kind: "expired", ...noJob },
  "create-lost": { kind: "unknown", ...noJob },
  unreadable: { kind: "unknown", ...noJob },
  key: { kind: "rejected", ...noJob },
  prompt: { kind: "rejected", ...noJob, said: "The prompt is longer than 8,000 characters." },
  project: { kind: "rejected", ...noJob },
  other: { kind: "rejected", ...withoutPr },
};

/** What a job service that tells of turns adds. */
const toldOutcomes: [string, Partial<Outcome>][] = [
  ["pull-request, described", { kind: "pull-request", told: makeUpTold() }],
  [
    "pull-request, of a follow-up",
    { kind: "pull-request", told: makeUpTold(), prBefore: makeUpJob().prLink ?? "" },
  ],
  [
    "pull-request, of a follow-up that nothing is told of",
    { kind: "pull-request", prBefore: makeUpJob().prLink ?? "" },
  ],
  [
    "pull-request, unsafe link",
    { kind: "pull-request", job: makeUpJob({ prLink: "http://user@evil.example/7" }) },
  ],
  [
    "no-changes, with a reason",
    {
      kind: "no-changes",
      ...withoutPr,
      told: makeUpTold({
        outcome: "no-changes",
        pullRequest: null,
        summary: "There is no page “pricing”. There are “install” and “quickstart”. Which one do you mean?",
      }),
    },
  ],
  ...(["time-limit", "budget"] as const).map((cause): [string, Partial<Outcome>] => [
    `failed, ${cause}`,
    {
      kind: "failed",
      ...withoutPr,
      told: makeUpTold({
        outcome: "failed",
        cause,
        pullRequest: null,
        reason:
          cause === "budget"
            ? "The turn's budget of 200,000 tokens is used up."
            : "The agent did not end within its time limit of 15 min, and was stopped.",
      }),
    },
  ]),
  [
    "failed, with a reason",
    {
      kind: "failed",
      ...withoutPr,
      told: makeUpTold({
        outcome: "failed",
        pullRequest: null,
        reason: "The agent's model can't be reached.",
      }),
    },
  ],
];

const watching = { name: "watching", since: NOON, troubleSince: null } as const;

function at(step: string, steps: [string, PlanStep["status"]][] = []): TurnStage {
  const plan = steps.map(([text, status]) => ({ text, status }));
  const progress = progressOf(makeUpReport({ status: "running", step, plan }));
  return progress === undefined ? watching : { ...watching, progress };
}

function ended(outcome: Partial<Outcome>): TurnStage {
  return { name: "ended", outcome: makeUpOutcome(outcome), at: NOON };
}

/** Where a turn can stand. */
const stages: Record<TurnStage["name"], [string, TurnStage][]> = {
  accepted: [
    ["accepted", { name: "accepted", waitingSince: null }],
    ["agent unavailable", { name: "accepted", waitingSince: NOON }],
    ["agent's limit reached", { name: "accepted", waitingSince: NOON, limitedUntil: NOON + 25 * 60_000 }],
  ],
  submitting: [["being sent", { name: "submitting", waitingSince: null, isRepeat: false }]],
  watching: [
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
    ["pull request, described", ended({ kind: "pull-request", told: makeUpTold() })],
    ...Object.entries(endings).flatMap(([ending, { short, long }]): [string, TurnStage][] => [
      [ending, ended(short)],
      [`${ending}, longest`, ended(long)],
    ]),
  ],
};

/** Who asked, and how. */
const ways: Record<Request["from"], Partial<Request>> = {
  command: {},
  shortcut: { from: "shortcut", instructions: "Fix the problem this message describes." },
  mention: { from: "mention" },
  "try-again": { from: "try-again", userId: BEN },
};

const followUp = makeUpTurn(watching, {
  id: "mention:2",
  from: "mention",
  userId: BEN,
  instructions: "And in the FAQ.",
  follows: { turnId: "command:1" },
});

function statusSamples(): [string, MessageOf<"status">][] {
  const turn = makeUpTurn(watching);
  const many = Array.from({ length: 7 }, () => ({
    ...followUp,
    stage: ended(endings["pull-request"].long),
    request: { ...followUp.request, instructions: LONG },
  }));
  const long = makeUpTurn(ended(endings["pull-request"].long), { instructions: LONG });
  const status = (more: Partial<MessageOf<"status">>): MessageOf<"status"> => ({
    kind: "status",
    turn,
    away: null,
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
    ["waiting for an answer", status({ turn: askingTurn })],
    ["of a follow-up", status({ turn: followUp })],
    ["with a follow-up", status({ followUps: [followUp] })],
    [
      "of a request that is started anew",
      status({ turn: { ...makeUpTurn(watching, { from: "mention" }), isStartedAnew: true } }),
    ],
    ["longest", status({ turn: long, followUps: many, away: "not_in_channel" })],
  ];
}

function outcomeSamples(): [string, MessageOf<"outcome">][] {
  const outcome = (more: Partial<Outcome>, away: string | null = null): MessageOf<"outcome"> => {
    const whole = makeUpOutcome(more);
    const request = away === null ? {} : { instructions: LONG };
    const turn = makeUpTurn({ name: "ended", outcome: whole, at: NOON }, request);
    return { kind: "outcome", turn, outcome: whole, watch: 1, away };
  };
  return [
    ...toldOutcomes.map(([name, told]): [string, MessageOf<"outcome">] => [name, outcome(told)]),
    ...Object.entries(endings).flatMap(([ending, { short, long }]): [string, MessageOf<"outcome">][] => [
      [ending, outcome(short)],
      [`${ending}, longest`, outcome(long, "not_in_channel")],
    ]),
    ...OutcomeReason.options.map((reason): [string, MessageOf<"outcome">] => [
      reason,
      outcome({ ...reasons[reason], reason }),
    ]),
  ];
}

const manyNames = Array.from({ length: 100 }, (_, n) => `project-${n}-`.padEnd(40, "x"));

/** Why a request is not taken. */
const refusals: { [K in Refusal["kind"]]: [string, Extract<Refusal, { kind: K }>][] } = {
  "too-long": [
    ["too long", { kind: "too-long", length: 4_321, limit: PROMPT_MAX_CHARS }],
    [
      "too long, with what was typed",
      { kind: "too-long", length: 12_345, limit: PROMPT_MAX_CHARS, typed: LONG.repeat(3) },
    ],
  ],
  "unknown-project": [
    ["unknown project", { kind: "unknown-project", name: "handbok", known: ["docs", "handbook"] }],
    ["unknown project, where there is one", { kind: "unknown-project", name: "handbok", known: ["docs"] }],
    ["unknown project, longest", { kind: "unknown-project", name: LONG, known: manyNames }],
  ],
  guest: [["guest", { kind: "guest" }]],
  unchecked: [["not looked up yet", { kind: "unchecked" }]],
  uncheckable: [["not to be looked up", { kind: "uncheckable" }]],
  "too-many": [
    ["too many of a person", { kind: "too-many", scope: "person", limit: 20, againAtMs: NOON }],
    ["too many of a channel", { kind: "too-many", scope: "channel", limit: 1_200, againAtMs: NOON }],
  ],
};

/** Every kind of message, and every variant of it that reads differently. A new kind needs an entry here. */
const kinds: { [K in Message["kind"]]: [string, MessageOf<K>][] } = {
  status: statusSamples(),
  outcome: outcomeSamples(),
  question: questionSamples,
  overdue: overdueSamples,
  refused: Object.values(refusals)
    .flat()
    .map(([name, refusal]) => [name, { kind: "refused", refusal }]),
  "invite-me": [
    ["not in the channel", { kind: "invite-me", channelId: DOCS, error: "not_in_channel" }],
    ["no way to post", { kind: "invite-me", channelId: DOCS, error: "restricted_action" }],
  ],
  kept: [["kept", { kind: "kept" }]],
  help: [
    ["help", { kind: "help" }],
    ["files without words", { kind: "help", isOfFiles: true }],
  ],
  welcome: [["welcome", { kind: "welcome" }]],
  list: listSamples,
  standing: standingSamples,
  ask: [["is it for the agent?", { kind: "ask", replyId: "mention:3" }]],
  "not-allowed": [["not allowed", { kind: "not-allowed", requesterId: ANA }]],
  "gave-up": ["open", "deliver", "question", "answer", "watch"].map((taskType) => [
    `gave up: ${taskType}`,
    { kind: "gave-up", taskId: `${taskType}:command:1`, taskType, channelId: DOCS },
  ]),
};

type PrivateMessage = Extract<keyof typeof privateMessages, `${string}Message`>;
/** What `render` makes of a kind above. */
type ByKind =
  | "askMessage"
  | "gaveUpMessage"
  | "helpMessage"
  | "inviteMeMessage"
  | "keptMessage"
  | "noWordsMessage"
  | "notAllowedMessage"
  | "refusalMessage"
  | "welcomeMessage";

/** What is said to one person at once, before there is anything to keep. */
const atOnce: Record<Exclude<PrivateMessage, ByKind>, Rendered> = {
  notKeptMessage: privateMessages.notKeptMessage(),
  maybeKeptMessage: privateMessages.maybeKeptMessage(),
  notListedMessage: privateMessages.notListedMessage(),
  formNotOpenedMessage: privateMessages.formNotOpenedMessage(),
};

/** All samples, in groups: a group for each kind of message, and one for what has no kind. */
export const samples: Readonly<Record<string, readonly Sample[]>> = {
  ...Object.fromEntries(
    Object.entries(kinds).map(([kind, all]) => [kind, all.map(([name, message]) => ({ name, message }))]),
  ),
  "at once": Object.entries(atOnce).map(([name, message]) => ({
    name: name.replace(/Message$/, "").replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
    message,
  })),
};
