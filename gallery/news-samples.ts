import type { KnownPullRequest, KnownReview } from "../src/app/rules/known-job.ts";
import type { MessageOf } from "../src/app/rules/ports/notifier.ts";
import type { PullRequestNews, UnaskedNews } from "../src/app/rules/turn/pull-request-news.ts";
import { withPullRequest } from "../src/app/rules/turn/reported-pull-request.ts";
import type { Turn } from "../src/app/rules/turn/turn.ts";
import { ANA, BEN, LONG, NOON, UNBROKEN, makeUpOutcome, makeUpResult, makeUpTurn } from "./made-up.ts";

const URL = "https://github.com/tidepool/docs/pull/7";
const outcome = makeUpOutcome({ kind: "pull-request", told: makeUpResult() });

function makeUpFollowed(pullRequest: Partial<KnownPullRequest> = {}): KnownPullRequest {
  return {
    url: URL,
    title: "Correct the install command",
    state: "open",
    isDraft: false,
    review: "none",
    checks: { state: "passed", failed: [] },
    reviews: [],
    waitingFor: ["maria-s", "tidepool/docs"],
    mergeable: null,
    blockedBy: null,
    headSha: "0123456789abcdef0123456789abcdef01234567",
    isVisible: true,
    openedAt: NOON,
    ...pullRequest,
  };
}

/** A turn whose pull request is in this state. */
export function makeUpFollowedTurn(
  pullRequest: Partial<KnownPullRequest>,
  before: Turn = makeUpTurn({ name: "ended", outcome, at: NOON }),
): Turn & { pullRequest: NonNullable<Turn["pullRequest"]> } {
  const at = { url: URL, linkedAt: NOON, now: NOON };
  return { ...before, pullRequest: withPullRequest(undefined, makeUpFollowed(pullRequest), at) };
}

/** Offers to whoever asks for what an open pull request does. */
export const askedBeforeSamples: [string, MessageOf<"asked-before">][] = [
  ["asked before, its pull request waits", offer({}, { mayAdd: true, isOwn: false })],
  [
    "asked before, its pull request has conflicts",
    offer({ blockedBy: "conflicts", baseRef: "main" }, { mayAdd: true, isOwn: true }),
  ],
  [
    "asked before, others may not add to it",
    offer({ waitingFor: [UNBROKEN] }, { mayAdd: false, isOwn: false }),
  ],
];

function offer(
  pullRequest: Partial<KnownPullRequest>,
  may: { mayAdd: boolean; isOwn: boolean },
): MessageOf<"asked-before"> {
  const turn = makeUpFollowedTurn(pullRequest);
  return { kind: "asked-before", replyId: "mention:3", turn, ...may, agoMs: 3 * 86_400_000 };
}

function told(pullRequest: Partial<KnownPullRequest>): MessageOf<"news"> {
  const turn = makeUpFollowedTurn(pullRequest);
  const news = turn.pullRequest.news.at(-1);
  if (news === undefined) throw new Error("nothing is new");
  return { kind: "news", turn, news, url: URL, movedBecause: null };
}

function review(id: string, author: string, words: string): KnownReview {
  return { id, author, words, state: "changes-requested", at: NOON, headSha: null };
}

const maria = review(
  "1",
  "maria-s",
  "The old name is still in the FAQ. Could you say which version renamed it?",
);
const comments = [
  { path: "docs/faq.md", line: 12, words: "This is the old name." },
  { path: "docs/faq.md", line: 40, words: "And here." },
  { path: "docs/install.md", line: null, words: "Keep the npx form, please." },
  { path: "docs/guides/upgrade.md", line: 7, words: "Since 2.1, not 2.0." },
];
const brokenLink = {
  name: "links",
  words: "docs/api/README.md: docs/quickstart.md has no heading #2-create-a-key",
  url: "https://github.com/tidepool/docs/actions/runs/1",
};
const monday = NOON - 7 * 86_400_000;
const everything: PullRequestNews = {
  kind: "checks-failed",
  id: "9",
  at: NOON,
  names: Array.from({ length: 20 }, () => LONG.slice(0, 100)),
  reasons: Array.from({ length: 5 }, () => ({
    name: LONG.slice(0, 100),
    words: LONG.slice(0, 300),
    url: UNBROKEN,
  })),
  headSha: null,
};

/** A turn that nobody asked for has ended like this. */
function unasked(over: Partial<UnaskedNews>): MessageOf<"news"> {
  const turn = makeUpFollowedTurn({});
  const news = { id: "turn-2", at: NOON, number: 2, reviewers: ["maria-s"], base: "main", words: "" };
  const told = { kind: "unasked", act: "address", ended: "changed", ...news, ...over } as const;
  return { kind: "news", turn, news: told, url: URL, movedBecause: null };
}

/** Samples of the posts about a pull request after its link. */
export const newsSamples: [string, MessageOf<"news">][] = [
  ["changes requested", told({ reviews: [maria] })],
  ["a review answered unasked", unasked({ words: "Say since which version" })],
  ["reviews answered unasked, without words", unasked({ reviewers: [] })],
  [
    "reviews read unasked, and nothing changed",
    unasked({ ended: "unchanged", reviewers: ["maria-s", "tom"], words: "The FAQ has the new name." }),
  ],
  ["a review not answered", unasked({ ended: "failed", words: "The agent's time was over." })],
  ["brought up to date unasked", unasked({ act: "update" })],
  [
    "a review answered unasked, longest",
    unasked({
      reviewers: ["1", "2", "3"].map((n) => `${n} ${LONG}`.slice(0, 100)),
      words: LONG.slice(0, 300),
    }),
  ],
  [
    "changes requested, by a level 2 service",
    { ...told({ reviews: [{ ...maria, comments: comments.slice(0, 1) }] }), offer: "act" },
  ],
  ["changes requested, after three rounds", { ...told({ reviews: [maria] }), offer: "no-rounds" }],
  ["changes requested, without words", told({ reviews: [review("1", "maria-s", "")] })],
  [
    "changes requested by two",
    told({ reviews: [maria, review("2", "tom", "Please keep the npx form, too.")] }),
  ],
  [
    "changes requested, with comments",
    told({
      reviews: [
        { ...maria, comments: comments.slice(0, 2) },
        { ...maria, id: "2", author: "tom", words: "", comments },
      ],
    }),
  ],
  [
    "changes requested, longest",
    {
      ...told({
        reviews: Array.from({ length: 20 }, (_, n) =>
          review(`${n}`, `${n} ${LONG}`, n % 2 === 0 ? LONG : UNBROKEN),
        ).map((each) => ({ ...each, comments: Array(5).fill({ path: UNBROKEN, line: 12, words: LONG }) })),
      }),
      movedBecause: "is_archived",
      offer: "act",
    },
  ],
  ["checks failed", told({ checks: { state: "failed", failed: ["links"] } })],
  ["checks failed, several", told({ checks: { state: "failed", failed: ["links", "build (node 24)"] } })],
  ["checks failed, no names", told({ checks: { state: "failed", failed: [] } })],
  ["checks failed, longest", { ...told({ state: "merged" }), news: everything, offer: "act" }],
  [
    "checks failed, with reasons",
    told({ checks: { state: "failed", failed: ["links"], reasons: [brokenLink] } }),
  ],
  [
    "checks failed, several with reasons",
    told({
      checks: {
        state: "failed",
        failed: ["links", "build (node 24)"],
        reasons: [brokenLink, { name: "build (node 24)", words: "MDX: unexpected end of file", url: null }],
      },
    }),
  ],
  ["conflicts", { ...told({ blockedBy: "conflicts", baseRef: "main" }), offer: "act" }],
  ["conflicts, base unknown", told({ blockedBy: "conflicts" })],
  [
    "conflicts, longest",
    {
      ...told({ blockedBy: "conflicts", baseRef: LONG.slice(0, 300) }),
      movedBecause: "is_archived",
      offer: "act",
    },
  ],
  ["merged", told({ state: "merged" })],
  ["merged, without a mention", { ...told({ state: "merged" }), muted: [ANA] }],
  [
    "merged, with a follower",
    { ...told({ state: "merged" }), turn: { ...makeUpFollowedTurn({}), followers: [BEN] } },
  ],
  ["merged, link not safe", { ...told({ state: "merged" }), url: "https://user@evil.example/x" }],
  ["closed", told({ state: "closed" })],
  ["closed, in a direct message", { ...told({ state: "closed" }), movedBecause: "is_archived" }],
  ["waiting for a review", told({ openedAt: monday })],
  ["waiting for nobody in particular", told({ openedAt: monday, waitingFor: [] })],
  ["out of sight", told({ isVisible: false })],
];

/** The states of a pull request that a status message shows. */
export const FOLLOWED_STATES: Readonly<Record<string, Partial<KnownPullRequest>>> = {
  "waiting for a review": {},
  approved: { review: "approved" },
  conflicts: { blockedBy: "conflicts", baseRef: "main" },
  "changes requested": { review: "changes-requested" },
  "checks failed": { checks: { state: "failed", failed: ["links"] } },
  draft: { isDraft: true },
  "waiting for a review, with a preview": { preview: "https://pr-12.preview.example.com/install" },
  merged: { state: "merged" },
  "merged, and live": { state: "merged", live: "https://docs.acme.com/install" },
  "merged, and live at a long address": {
    state: "merged",
    live: `https://docs.acme.com/${"guides/".repeat(100)}install`,
  },
  closed: { state: "closed" },
};
