/** A pull request as we need it. */
export type HostedPullRequest = {
  number: number;
  /** Its name for what only the host's other API can do; null: it has none. */
  nodeId: string | null;
  title: string;
  state: "open" | "closed" | "merged";
  isDraft: boolean;
  headRef: string;
  /** The commit that it ends in. */
  headSha: string;
  url: string;
  body: string | null;
  /** What it changes; null where the answer did not say. */
  size: { files: number; additions: number; deletions: number } | null;
};

/**
 * Where pull requests live. All methods reject with a `TransientRunError` when asking again may
 * help, with a `TurnFailedError` when not.
 */
export type PullRequestHost = {
  /** The pull requests from this branch, newest first, whatever their state. */
  find(branch: string, signal: AbortSignal): Promise<HostedPullRequest[]>;
  /** Opens one; "exists" if there is an open one already, "no-drafts" if the host has no drafts. */
  create(
    input: { branch: string; base: string; title: string; body: string; isDraft: boolean },
    signal: AbortSignal,
  ): Promise<HostedPullRequest | "exists" | "no-drafts">;
  /** Resolves to the pull request with its new texts. */
  change(
    number: number,
    texts: { title?: string; body?: string },
    signal: AbortSignal,
  ): Promise<HostedPullRequest>;
  /** Makes a draft a normal pull request. */
  markReady(nodeId: string, signal: AbortSignal): Promise<void>;
  /**
   * Adds a label, assigns a person, or asks a person or a team (`owner/team`) for a review. False
   * if it was left out without a word.
   */
  decorate(
    number: number,
    kind: "labels" | "assignees" | "reviewers",
    name: string,
    signal: AbortSignal,
  ): Promise<boolean>;
  /**
   * Whether everybody can read the project's repository, or another one of the same host; null: it
   * doesn't say.
   */
  isPublic(signal: AbortSignal, repository?: { owner: string; repo: string }): Promise<boolean | null>;
};

/** How a check of a pull request's newest commit stands. */
export type HostedCheck = {
  name: string;
  state: "pending" | "failed" | "passed";
  /** Null: the host doesn't say. */
  isRequired: boolean | null;
};

/** What a pull request is at its host now: the host's words, untrusted and unbounded. */
export type PullFacts = {
  number: number;
  url: string;
  title: string;
  state: "open" | "closed" | "merged";
  isDraft: boolean;
  headRef: string;
  headSha: string;
  baseRef: string;
  /** Who opened it. */
  author: string;
  /** Epoch milliseconds, by the host's clock. */
  openedAt: number;
  updatedAt: number;
  /** Whether there are no conflicts; null: the host is finding out. */
  isMergeable: boolean | null;
  /** GitHub's `mergeable_state`, in lower case. */
  mergeState: string;
  /** True if the rules want more approvals. */
  needsApproval: boolean;
  /** What each reviewer thinks, by their newest review that isn't a mere comment or dismissed. */
  opinions: { author: string; state: "approved" | "changes-requested" }[];
  /** The newest reviews, the oldest first. */
  reviews: {
    id: string;
    author: string;
    words: string;
    state: "approved" | "changes-requested" | "commented";
    at: number;
  }[];
  /** People, and teams as `owner/team`, who were asked for a review. */
  requested: string[];
  /** Null: they can't be read. */
  checks: HostedCheck[] | null;
};

/**
 * What a look at a pull request brought; `unreadable`: an answer that isn't what the API promises.
 */
export type PullLook = PullFacts | "not-there" | "unreadable";

/** What changed in a repository since a moment; `etag` names this state of it. */
export type ChangedPulls = {
  pulls: { number: number; updatedAt: number }[];
  /** False if there is more than is worth reading. */
  isComplete: boolean;
  etag: string | null;
};

/**
 * A code host as it is followed. All methods reject with a `TransientRunError` when asking again
 * may help, with a `RefusedByCodeHostError` when not.
 */
export type FollowedHost = {
  /** How many pull requests may be looked at in one call. */
  readonly batch: number;
  /**
   * The pull requests that changed at `since` or later (epoch milliseconds, by the host's clock;
   * null: only the newest), the newest first. Null: nothing changed since the state that `etag`
   * names.
   */
  changed(since: number | null, etag: string | null, signal: AbortSignal): Promise<ChangedPulls | null>;
  look(numbers: readonly number[], signal: AbortSignal): Promise<Map<number, PullLook>>;
  /** Those checks that failed before the pull request's change, too. Null: not to be read now. */
  failedBefore(facts: PullFacts, signal: AbortSignal): Promise<ReadonlySet<string> | null>;
};
