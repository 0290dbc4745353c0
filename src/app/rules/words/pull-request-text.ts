import type { KnownPullRequest } from "../known-job.ts";
import {
  newsKindOf,
  type PullRequestNews,
  type ThreadNews,
  type UnaskedNews,
} from "../turn/pull-request-news.ts";
import { openStateOf, type TurnPullRequest } from "../turn/turn-pull-request.ts";
import { listed } from "../../../shared/text/text.ts";
import { endingOf } from "../turn/outcome.ts";
import type { Turn } from "../turn/turn.ts";

/** A state's symbol and name, for the status message and lists. */
const PULL_REQUEST_STATES = {
  merged: "🎉 Merged",
  closed: "🚫 Closed",
  conflicts: "⚠️ Conflicts",
  "checks-failed": "❌ Checks failed",
  "changes-requested": "✏️ Changes requested",
  draft: "📝 Draft",
  approved: "✅ Approved",
  waiting: "👀 Waiting for review",
} as const;

/** Says what an open pull request waits for. `isRequesters`: the requester's name follows. */
export function waitsFor(pullRequest: TurnPullRequest): { text: string; isRequesters: boolean } {
  const state = openStateOf(pullRequest);
  if (state === "approved") return { text: "approved, not merged yet", isRequesters: false };
  if (state === null || state === "waiting") {
    return { text: `waiting for ${reviewersOf(pullRequest.latest)}`, isRequesters: false };
  }
  const what = state === "conflicts" ? conflictsText(pullRequest) : state.replace("-", " ");
  return { text: `${what}, waiting for `, isRequesters: true };
}

/** Says in words how an open pull request stands (untrusted). */
export function stateOf(pullRequest: TurnPullRequest): string {
  return waitsFor(pullRequest).text.replace(/, waiting for $/, "");
}

function conflictsText({ latest }: TurnPullRequest): string {
  return `conflicts with ${baseOf(latest.baseRef)}`;
}

/** The base branch's name (untrusted), as far as it is known. */
export function baseOf(name: string | undefined): string {
  return name === undefined || name === "" ? "the base branch" : name;
}

function reviewersOf({ waitingFor }: Pick<KnownPullRequest, "waitingFor">): string {
  return waitingFor.length === 0 ? "a review" : listed(waitingFor, NAMED_MAX);
}

/**
 * The state that an ended turn's line in the status message shows in place of its outcome, or null.
 * A turn that couldn't finish says so until its pull request ends.
 */
export function shownPullRequestState({ stage, pullRequest }: Turn): string | null {
  if (stage.name !== "ended" || pullRequest === undefined) return null;
  const { latest } = pullRequest;
  if (latest.state !== "open") return PULL_REQUEST_STATES[latest.state];
  const state = openStateOf(pullRequest);
  if (state === null || endingOf(stage.outcome) !== "pull-request") return null;
  if (state === "conflicts") return `⚠️ C${conflictsText(pullRequest).slice(1)}`;
  const isUnchecked = latest.checks.state === "unknown";
  return `${PULL_REQUEST_STATES[state]}${isUnchecked ? ", checks unknown" : ""}`;
}

/**
 * Where the change can be looked at before the merge (untrusted), as the newest result shows it.
 */
export function shownPreview({ pullRequest }: Pick<Turn, "pullRequest">): string | null {
  const { state, preview } = pullRequest?.latest ?? {};
  return state === "open" ? (preview ?? null) : null;
}

/** Where the change is on the site (untrusted), as the status message shows it. */
export function shownLive({ pullRequest }: Pick<Turn, "pullRequest">): string | null {
  const { state, live } = pullRequest?.latest ?? {};
  return state === "merged" ? (live ?? null) : null;
}

/** The parts of the text that tells a thread about its pull request. */
type NewsText = {
  symbol: string;
  /** True if people are mentioned. */
  isForAll: boolean;
  /** What stands before and after the pull request's name. Plain text that may be untrusted. */
  before: string;
  after: string;
  /**
   * Untrusted words, each with its author or check where there are several, and the address of more
   * about them.
   */
  quotes: { from: string | null; words: string; url: string | null }[];
  /** The number of reviews beyond the quoted ones. */
  unquoted: number;
};

/** The text of one piece of news. */
export function newsText(news: ThreadNews): NewsText {
  switch (news.kind) {
    case "changes-requested":
      return reviewsText(news.reviews);
    case "checks-failed": {
      const { names, conflictsWith, reasons = [] } = news;
      if (newsKindOf(news) === "conflicts") {
        return { ...newsOf("⚠️", "", ` conflicts with ${baseOf(conflictsWith)}.`), isForAll: true };
      }
      const failed =
        names.length === 0
          ? "Checks"
          : listed(
              names.map((name) => `"${name}"`),
              NAMED_MAX,
            );
      const isOne = names.length === 1 && reasons.length === 1;
      const told = reasons.filter(({ words, url }) => words !== "" || url !== null);
      return {
        ...newsOf("❌", `${failed} failed on `, told.length === 0 ? "." : ":"),
        isForAll: true,
        quotes: told.map(({ name, ...reason }) => ({ ...reason, from: isOne ? null : name })),
      };
    }
    case "merged":
      return { ...newsOf("🎉", "", " is merged."), isForAll: true };
    case "closed":
      return { ...newsOf("🚫", "", " was closed without merging."), isForAll: true };
    case "waiting":
      return newsOf("⏰", "", ` has waited 3 working days for ${reviewersOf(news)}.`);
    case "unseen":
      return newsOf("⚠️", "I can't see ", " anymore.");
    case "unasked":
      return unaskedText(news);
  }
}

function unaskedText({ act, ended, reviewers, base, words }: UnaskedNews): NewsText {
  const whose = reviewers.length === 0 ? "the" : `${listed(reviewers)}'s`;
  const reviews = `${whose} ${reviewers.length === 1 ? "review" : "reviews"}`;
  const end = words === "" ? "." : ":";
  const text = {
    changed: newsOf("✅", `The agent answered ${reviews} of `, end),
    unchanged: newsOf("💬", `The agent looked at ${reviews} of `, ` and changed nothing${end}`),
    failed: newsOf("❌", `The agent couldn't answer ${reviews} of `, end),
  }[ended];
  const told =
    act === "update" ? newsOf("✅", "The agent brought ", ` up to date with ${baseOf(base)}.`) : text;
  return { ...told, quotes: words === "" ? [] : [{ from: null, words, url: null }] };
}

type Reviews = Extract<PullRequestNews, { kind: "changes-requested" }>["reviews"];

function reviewsText(reviews: Reviews): NewsText {
  const authors = [...new Set(reviews.map(({ author }) => author))];
  const said = reviews.filter(({ words, comments = [] }) => words !== "" || comments.length > 0);
  let room = COMMENTS_MAX;
  const quotes = said.slice(0, QUOTED_MAX).map(({ author, words, comments = [] }) => {
    const shown = comments.slice(0, room);
    room -= shown.length;
    const left = comments.length - shown.length;
    const lines = [
      ...(words === "" ? [] : [words]),
      ...shown.map((comment) => `• ${comment}`),
      ...(left === 0 ? [] : [`… and ${left} more`]),
    ];
    return { from: authors.length === 1 ? null : author, words: lines.join("\n"), url: null };
  });
  const ask = authors.length === 1 ? "asks" : "ask";
  return {
    ...newsOf("✏️", `${listed(authors, NAMED_MAX)} ${ask} for changes in `, said.length === 0 ? "." : ":"),
    isForAll: true,
    quotes,
    unquoted: Math.max(0, said.length - QUOTED_MAX),
  };
}

const NAMED_MAX = 5;
/** The most reviews that one post quotes. The others' authors are named or counted. */
const QUOTED_MAX = 5;
/** The most comments on lines that one post shows. The others are counted. */
const COMMENTS_MAX = 5;

function newsOf(symbol: string, before: string, after: string): NewsText {
  return { symbol, isForAll: false, before, after, quotes: [], unquoted: 0 };
}
