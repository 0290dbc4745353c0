import type { MessageOf } from "../src/app/rules/ports/notifier.ts";
import { OutcomeReason } from "../src/app/rules/turn/outcome.ts";
import type { Outcome, endingOf } from "../src/app/rules/turn/outcome.ts";
import {
  BEN,
  LONG,
  NOON,
  longest,
  makeUpJob,
  makeUpOutcome,
  makeUpReport,
  makeUpResult,
  makeUpTurn,
} from "./made-up.ts";

type Ending = ReturnType<typeof endingOf>;

const noJob = { job: null };
const withoutPr = { job: makeUpJob({ prLink: null }) };

/** The shortest and the longest outcome of each ending. A new ending needs an entry here. */
export const endings: Record<Ending, { short: Partial<Outcome>; long: Partial<Outcome> }> = {
  "pull-request": {
    short: { kind: "pull-request" },
    long: { kind: "pull-request", hasDiff: true, told: makeUpResult(longest({})) },
  },
  branch: {
    short: {
      kind: "no-changes",
      ...withoutPr,
      told: makeUpResult({
        outcome: "branch",
        pullRequest: null,
        branch: "docs-agent/job-4f1c",
        summary: null,
      }),
    },
    long: {
      kind: "no-changes",
      ...withoutPr,
      hasDiff: true,
      told: makeUpResult({ ...longest({ outcome: "branch" }), pullRequest: null }),
    },
  },
  "no-changes": {
    short: { kind: "no-changes", ...withoutPr },
    long: {
      kind: "no-changes",
      ...withoutPr,
      told: makeUpResult({ ...longest({ outcome: "no-changes" }), pullRequest: null }),
    },
  },
  failed: {
    short: { kind: "failed", ...withoutPr },
    long: { kind: "failed", told: makeUpResult(longest({ outcome: "failed" })) },
  },
  canceled: {
    short: {
      kind: "failed",
      ...withoutPr,
      told: makeUpResult({ outcome: "cancelled", pullRequest: null, summary: null }),
    },
    long: { kind: "failed", told: makeUpResult(longest({ outcome: "cancelled" })) },
  },
  withdrawn: {
    short: { kind: "failed", ...noJob, stoppedBy: BEN },
    long: { kind: "failed", ...noJob, stoppedBy: BEN },
  },
  unwatched: {
    short: { kind: "expired", reason: "deadline", ...withoutPr, stoppedBy: BEN },
    long: { kind: "expired", reason: "deadline", stoppedBy: BEN },
  },
  passed: {
    short: { kind: "unknown", isPassed: true, ...withoutPr },
    long: { kind: "unknown", isPassed: true },
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

/** Outcomes whose reason has words of its own. */
const reasons: Record<OutcomeReason, Partial<Outcome>> = {
  deadline: { kind: "expired", ...withoutPr },
  "never-started": { kind: "expired", ...noJob },
  "create-lost": { kind: "unknown", ...noJob },
  unreadable: { kind: "unknown", ...noJob },
  key: { kind: "rejected", ...noJob },
  prompt: { kind: "rejected", ...noJob, said: "Your request is over 8,000 characters." },
  project: { kind: "rejected", ...noJob },
  other: { kind: "rejected", ...withoutPr },
};

const { pullRequest } = makeUpReport();
const page = { status: "changed" as const, additions: 3, deletions: 3 };
const withPages = {
  summary:
    "Fix typos and links in install and FAQ\n\n- docs/install.md: 3 typos\n" +
    "- docs/faq.md: the link to `limits`\n\n- Not the blog: old posts stay as they are.",
  pullRequest: pullRequest && {
    ...pullRequest,
    files: 7,
    pages: [
      { ...page, path: "docs/install.md", words: "3 typos" },
      { ...page, path: "docs/faq.md", additions: 1, deletions: 1, words: "the link to `limits`" },
      { ...page, path: "docs/limits.md", status: "added" as const, words: null },
      { ...page, path: "docs/old.md", status: "removed" as const, words: null },
      { ...page, path: "docs/logo.png", additions: null, deletions: null, words: null },
    ],
  },
  checks: [{ name: "links", result: "passed" as const, findings: [] }],
  claims: { total: 2, verified: 2 },
};
const draft = { pullRequest: pullRequest && { ...pullRequest, isDraft: true } };

/** Outcomes where the app only answers. */
const toQuestions: [string, Partial<Outcome>][] = [
  [
    "where the app only answers",
    {
      kind: "no-changes",
      ...withoutPr,
      told: makeUpResult({
        outcome: "no-changes",
        pullRequest: null,
        answer: "The install page names version 22 (docs/install.md:3).",
      }),
    },
  ],
  [
    "where the app only answers, without an answer",
    {
      kind: "no-changes",
      ...withoutPr,
      told: makeUpResult({ outcome: "no-changes", pullRequest: null, summary: null }),
    },
  ],
  [
    "where the app only answers, with too old a service",
    { kind: "rejected", reason: "other", ...noJob, cannotAsk: true },
  ],
];

/** Outcomes with the parts that a job service adds if it reports turns. */
const toldOutcomes: [string, Partial<Outcome>][] = [
  [
    "rejected, nothing to do about the pull request",
    {
      kind: "rejected",
      reason: "other",
      ...noJob,
      said: "Nobody asks for changes in this pull request.",
      isDeclined: true,
    },
  ],
  ["pull-request, described", { kind: "pull-request", told: makeUpResult() }],
  ["pull-request, with its pages", { kind: "pull-request", told: makeUpResult(withPages), hasDiff: true }],
  [
    "pull-request, of a follow-up with a title",
    {
      kind: "pull-request",
      told: makeUpResult(withPages),
      prBefore: makeUpJob().prLink ?? "",
      hasDiff: true,
    },
  ],
  [
    "pull-request, of a follow-up",
    { kind: "pull-request", told: makeUpResult(), prBefore: makeUpJob().prLink ?? "" },
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
    "pull-request, a draft with failed checks",
    {
      kind: "pull-request",
      told: makeUpResult({
        ...draft,
        checks: [
          {
            name: "links",
            result: "failed",
            findings: ["docs/faq.md: there is no docs/setup.md", "docs/faq.md: there is no #install"],
          },
          { name: "vale", result: "failed", findings: ["docs/faq.md: Use “sign in” instead of “log in”."] },
          { name: "spelling", result: "unchanged", findings: [] },
          { name: "docusaurus", result: "not-checked", findings: ["It took longer than 5 min."] },
        ],
        claims: { total: 5, verified: 4 },
        notes: ["The code host refused the reviewers: sam."],
      }),
    },
  ],
  [
    "pull-request, a draft as the settings say, checked",
    {
      kind: "pull-request",
      told: makeUpResult({
        ...draft,
        checks: ["links", "markdownlint"].map((name) => ({ name, result: "passed", findings: [] })),
        claims: { total: 1, verified: 1 },
      }),
    },
  ],
  [
    "pull-request, a draft that a follow-up updated",
    {
      kind: "pull-request",
      told: makeUpResult({ ...draft, claims: { total: 0, verified: 0 } }),
      prBefore: makeUpJob().prLink ?? "",
    },
  ],
  [
    "pull-request, of a follow-up that took everything back",
    {
      kind: "pull-request",
      canClose: true,
      told: makeUpResult({
        summary: "I took the note out again.",
        pullRequest: pullRequest && { ...pullRequest, title: "Nothing left to merge", isEmpty: true },
      }),
      prBefore: makeUpJob().prLink ?? "",
    },
  ],
  [
    "answer",
    {
      kind: "no-changes",
      ...withoutPr,
      told: makeUpResult({
        outcome: "no-changes",
        pullRequest: null,
        answer:
          "Yes, since version 2.0: `acme list --json` prints one object per line (src/cli/list.ts:41).\n\n" +
          "**It isn't documented.** Two pages would be the place for it:\n" +
          "- docs/cli.md lists the other flags\n- docs/scripting.md still parses the table:\n" +
          "```sh\nacme list | awk '{ print $2 }'\n```",
      }),
    },
  ],
  [
    "answer, a question, with a note",
    {
      kind: "no-changes",
      ...withoutPr,
      told: makeUpResult({
        outcome: "no-changes",
        pullRequest: null,
        answer: "There are two pages about refunds. Do you mean docs/refunds.md or docs/faq.md?",
        notes: ["The repository “cli” couldn't be read."],
      }),
    },
  ],
  [
    "answer, longest",
    {
      kind: "no-changes",
      ...withoutPr,
      told: makeUpResult({ outcome: "no-changes", pullRequest: null, answer: `${LONG}\n\n`.repeat(20) }),
    },
  ],
  [
    "no-changes, with a reason",
    {
      kind: "no-changes",
      ...withoutPr,
      told: makeUpResult({
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
      told: makeUpResult({
        outcome: "failed",
        cause,
        pullRequest: null,
        reason:
          cause === "budget"
            ? "The request's budget of 200,000 tokens is used up."
            : "The agent reached its 15-minute limit.",
      }),
    },
  ]),
  [
    "failed, with a reason",
    {
      kind: "failed",
      ...withoutPr,
      told: makeUpResult({
        outcome: "failed",
        pullRequest: null,
        reason: "The agent's model can't be reached.",
      }),
    },
  ],
];

const PREVIEW = "https://pr-12.preview.example.com/guides/install";

/** Samples of outcomes. */
export const outcomeSamples = makeOutcomeSamples();

function makeOutcomeSamples(): [string, MessageOf<"outcome">][] {
  const outcome = (more: Partial<Outcome>, away: string | null = null): MessageOf<"outcome"> => {
    const whole = makeUpOutcome(more);
    const request = away === null ? {} : { instructions: LONG };
    const turn = makeUpTurn({ name: "ended", outcome: whole, at: NOON }, request);
    return { kind: "outcome", turn, outcome: whole, watch: 1, movedBecause: away };
  };
  return [
    ...toldOutcomes.map(([name, told]): [string, MessageOf<"outcome">] => [name, outcome(told)]),
    ...toQuestions.map(([name, told]): [string, MessageOf<"outcome">] => {
      const { turn, ...said } = outcome(told);
      return [name, { ...said, turn: { ...turn, request: { ...turn.request, changesNothing: true } } }];
    }),
    ["with a preview", { ...outcome(endings["pull-request"].short), preview: PREVIEW }],
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
