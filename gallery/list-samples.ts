import type { JobDiff } from "../src/shared/contract/diff.ts";
import type { Message, MessageOf } from "../src/app/rules/ports/notifier.ts";
import { PRESS_NOT_KEPT } from "../src/app/messages/short-answers.ts";
import { HOME_OPEN_MAX, HOME_ROWS_MAX, type ListedTurn } from "../src/app/rules/thread/request-list.ts";
import { makeUpFollowedTurn } from "./news-samples.ts";
import { LONG, NOON, makeUpJob, makeUpOutcome, makeUpRequest, makeUpResult, makeUpTurn } from "./made-up.ts";

type Of<K extends Message["kind"]> = [string, MessageOf<K>][];

const url = "https://tidepool.slack.com/archives/C0DOCS/p1700000000000100";
const { project } = makeUpRequest();
const failed = makeUpOutcome({ kind: "failed", job: makeUpJob({ prLink: null }) });
const ready = makeUpOutcome({ kind: "pull-request", told: makeUpResult() });
const atWork: ListedTurn = {
  turn: makeUpTurn({ name: "watching", since: NOON, troubleSince: null }),
  url,
};
const done: ListedTurn = { turn: makeUpTurn({ name: "ended", outcome: ready, at: NOON }), url };
const followedUp: ListedTurn = {
  turn: makeUpFollowedTurn({}),
  first: makeUpTurn(
    { name: "ended", outcome: ready, at: NOON },
    { instructions: "The command `npm i tidepool` on the quickstart page has been wrong for a week now" },
  ),
  followUps: 2,
  url,
};
const long: ListedTurn = {
  turn: makeUpTurn({ name: "ended", outcome: ready, at: NOON }, { instructions: LONG }),
  url: null,
};
const all = {
  kind: "list",
  now: NOON + 3 * 86_400_000,
  from: 0,
  hasOlder: false,
  isPartial: false,
  isHiding: false,
} as const;

/** The Home tab. */
export const homeSamples: Of<"home"> = [
  [
    "Home tab",
    {
      kind: "home",
      page: {
        own: [atWork, followedUp],
        team: [done],
        open: [{ turn: makeUpFollowedTurn({}), url }],
        moreOpen: 0,
        project: "handbook",
        isPartial: false,
        looked: null,
        now: NOON + 3 * 86_400_000,
      },
    },
  ],
  [
    "Home tab, the most",
    {
      kind: "home",
      page: {
        own: Array.from({ length: HOME_ROWS_MAX }, () => long),
        team: Array.from({ length: HOME_ROWS_MAX }, () => long),
        open: Array.from({ length: HOME_OPEN_MAX }, () => ({ turn: makeUpFollowedTurn({}), url })),
        moreOpen: 12,
        project: null,
        isPartial: true,
        looked: { channels: 50, entries: 49 },
        now: NOON + 3 * 86_400_000,
      },
    },
  ],
  [
    "Home tab, nothing yet",
    {
      kind: "home",
      page: {
        own: [],
        team: [],
        open: [],
        moreOpen: 0,
        project: null,
        isPartial: false,
        looked: null,
        now: NOON,
      },
    },
  ],
  ["Home tab, after a press that failed", { kind: "home", page: { notice: PRESS_NOT_KEPT } }],
  ["Home tab of a guest", { kind: "home", page: { refusal: { kind: "guest" } } }],
];

const changed = makeUpTurn({ name: "ended", outcome: ready, at: NOON });
const onBranch = makeUpTurn({
  name: "ended",
  outcome: makeUpOutcome({ kind: "no-changes", job: makeUpJob({ prLink: null }) }),
  at: NOON,
});
const diff: JobDiff = {
  files: [
    { path: "docs/install.md", status: "changed", additions: 2, deletions: 1 },
    { path: "docs/logo.png", status: "added", additions: null, deletions: null },
  ],
  fileCount: 2,
  diff: [
    "diff --git a/docs/install.md b/docs/install.md",
    "index 8d0e412..f1a9c3b 100644",
    "--- a/docs/install.md",
    "+++ b/docs/install.md",
    "@@ -1,3 +1,4 @@ # Install",
    " ## On Linux",
    "-Run `npm instal` to recieve it.",
    "+Run `npm install` to receive it.",
    "+<!channel> \u202e is no mention",
    "diff --git a/docs/logo.png b/docs/logo.png",
    "new file mode 100644",
    "Binary files /dev/null and b/docs/logo.png differ",
  ].join("\n"),
  isCut: false,
};
const manyKinds: JobDiff = {
  files: [
    { path: "docs/faq.md", status: "changed", additions: 9, deletions: 8 },
    { path: "docs/limits.md", status: "added", additions: 34, deletions: 0 },
    { path: "docs/old.md", status: "removed", additions: 0, deletions: 12 },
  ],
  fileCount: 14,
  diff: [
    "diff --git a/docs/faq.md b/docs/faq.md",
    "--- a/docs/faq.md",
    "+++ b/docs/faq.md",
    "@@ -3,9 +3,12 @@ ## How do I get a key?",
    "-Every new customer can ask the people of the support team for a key of their own by mail.",
    "+Create a key on the page Settings, under API keys. It is shown once, so keep it in a safe place.",
    " ## What does it cost?",
    "-It is free of charge for teams of up to five people.",
    " ## Who can use it?",
    "+It is free of charge for teams of up to five people.",
    "+",
    "+Others pay for each seat.",
    "diff --git a/docs/limits.md b/docs/limits.md",
    "new file mode 100644",
    "--- /dev/null",
    "+++ b/docs/limits.md",
    "@@ -0,0 +1,2 @@",
    "+# Limits",
    "+100 calls a minute.",
    "diff --git a/docs/old.md b/docs/old.md",
    "deleted file mode 100644",
    "--- a/docs/old.md",
    "+++ /dev/null",
    "@@ -1 +0,0 @@",
    "-# Old",
  ].join("\n"),
  isCut: false,
};
const large: JobDiff = {
  files: Array.from({ length: 300 }, (_, n) => ({
    path: `${LONG}/${n}.md`,
    status: "removed" as const,
    additions: 0,
    deletions: 12_345,
  })),
  fileCount: 10_000,
  diff: Array.from({ length: 300 }, (_, n) =>
    [
      `diff --git a/${LONG}/${n}.md b/${LONG}/${n}.md`,
      `@@ -1 +1 @@ # ${LONG}`,
      ...Array.from({ length: 5 }, () => `-${LONG}\n+x${LONG}\n ${LONG}`),
    ].join("\n"),
  ).join("\n"),
  isCut: true,
};

/** Samples of the message that shows what a job changes. */
export const changesSamples: Of<"changes"> = [
  ["reading", { kind: "changes", turn: changed, of: { kind: "reading" } }],
  ["shown", { kind: "changes", turn: changed, of: { kind: "read", diff, rest: null } }],
  ["shown, with a file", { kind: "changes", turn: changed, of: { kind: "read", diff, rest: "file" } }],
  [
    "moved and rewritten",
    { kind: "changes", turn: changed, of: { kind: "read", diff: manyKinds, rest: "file" } },
  ],
  ["shown, on a branch", { kind: "changes", turn: onBranch, of: { kind: "read", diff, rest: "page" } }],
  ["longest", { kind: "changes", turn: changed, of: { kind: "read", diff: large, rest: "file" } }],
  [
    "longest, without the scope",
    { kind: "changes", turn: changed, of: { kind: "read", diff: large, rest: "page" } },
  ],
  ["gone", { kind: "changes", turn: changed, of: { kind: "gone" } }],
  ["gone, on a branch", { kind: "changes", turn: onBranch, of: { kind: "gone" } }],
  ["unreadable", { kind: "changes", turn: changed, of: { kind: "unreadable" } }],
];

/** Samples of the message beside a file. */
export const rawChangeSamples: Of<"raw-change"> = [
  ["with the file", { kind: "raw-change", turn: changed }],
  ["with the file of a branch", { kind: "raw-change", turn: onBranch }],
];

/** Samples of the message that says why a pull request wasn't closed. */
export const notClosedSamples: Of<"not-closed"> = [
  ["not closed", { kind: "not-closed", turn: changed, said: null }],
  ["stays open", { kind: "not-closed", turn: changed, said: "The pull request changes something again." }],
  ["stays open, longest", { kind: "not-closed", turn: onBranch, said: LONG }],
];

/** Samples of lists of requests. */
export const listSamples: Of<"list"> = [
  ["none", { ...all, of: "person", turns: [] }],
  ["none in the channel", { ...all, of: "channel", turns: [] }],
  ["a person's", { ...all, of: "person", turns: [atWork, done, followedUp] }],
  [
    "open pull requests",
    {
      ...all,
      of: "person",
      isOpen: true,
      turns: [
        { review: "changes-requested" as const },
        { checks: { state: "failed" as const, failed: ["links"] } },
        { isDraft: true },
        { review: "approved" as const },
        {},
        { waitingFor: [], title: LONG },
      ].map((pullRequest) => ({ turn: makeUpFollowedTurn(pullRequest), url })),
    },
  ],
  ["no open pull requests", { ...all, of: "person", isOpen: true, turns: [] }],
  ["a channel's", { ...all, of: "channel", turns: [atWork, done], isHiding: true }],
  [
    "longest",
    {
      ...all,
      of: "channel",
      turns: Array.from({ length: 10 }, () => long),
      from: 10,
      hasOlder: true,
      isPartial: true,
    },
  ],
];

const quiet = {
  kind: "overview",
  own: null,
  channel: null,
  contacts: [],
  trouble: null,
  isPartial: false,
} as const;

/** Samples of the answer to `status`. */
export const overviewSamples: Of<"overview"> = [
  ["nothing", quiet],
  [
    "some",
    {
      ...quiet,
      own: { running: 1, waiting: 0 },
      channel: { running: 2, waiting: 1 },
      contacts: [{ project, isUp: true, at: NOON, since: NOON }],
    },
  ],
  [
    "trouble",
    {
      ...quiet,
      own: { running: 0, waiting: 2 },
      contacts: [{ project, isUp: false, at: NOON, since: NOON }],
      trouble: {
        turn: makeUpTurn({ name: "ended", outcome: failed, at: NOON }),
        url,
        at: NOON,
        now: NOON + 60_000,
      },
      isPartial: true,
    },
  ],
];
