/** The parts of a pull request that we need. */
export type HostedPullRequest = {
  number: number;
  /** Its id in GraphQL, for what REST can't do. Null if it has none. */
  nodeId: string | null;
  title: string;
  state: "open" | "closed" | "merged";
  isDraft: boolean;
  headRef: string;
  /** Its newest commit. */
  headSha: string;
  url: string;
  body: string | null;
  /** The size of its change. Null if the answer didn't say. */
  size: { files: number; additions: number; deletions: number } | null;
};

/**
 * Where pull requests live. All methods reject with a `TransientRunError` if asking again may help,
 * and otherwise with a `TurnFailedError`.
 */
export type PullRequestHost = {
  /** The pull requests from this branch, newest first, whatever their state. */
  find(branch: string, signal: AbortSignal): Promise<HostedPullRequest[]>;
  /**
   * Opens a pull request. Resolves to "exists" if there is an open one already, and to "no-drafts"
   * if the host doesn't support drafts.
   */
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
  /** Marks a draft as ready for review. */
  markReady(nodeId: string, signal: AbortSignal): Promise<void>;
  /**
   * Adds a label, assigns a person, or requests a review from a person or a team (`owner/team`).
   * Resolves to false if the host silently ignored it.
   */
  decorate(
    number: number,
    kind: "labels" | "assignees" | "reviewers",
    name: string,
    signal: AbortSignal,
  ): Promise<boolean>;
  /**
   * True if everybody can read the project's repository, or another repository of the same host.
   * Null if the host doesn't say.
   */
  isPublic(signal: AbortSignal, repository?: { owner: string; repo: string }): Promise<boolean | null>;
};

/** The state of a check on a pull request's newest commit. */
export type HostedCheck = {
  name: string;
  state: "pending" | "failed" | "passed";
  /** Null if the host doesn't say. */
  isRequired: boolean | null;
};

/** A pull request's current state at its host, in the host's words (untrusted, unbounded). */
export type PullFacts = Omit<HostedPullRequest, "nodeId" | "body" | "size"> & {
  baseRef: string;
  /** Who opened it. */
  author: string;
  /** Epoch milliseconds, by the host's clock. */
  openedAt: number;
  updatedAt: number;
  /** True if there are no conflicts. Null while the host is finding out. */
  isMergeable: boolean | null;
  /** GitHub's `mergeable_state`, in lower case. */
  mergeState: string;
  /** True if the branch rules require more approvals. */
  needsApproval: boolean;
  /** Each reviewer's opinion: their newest review that is neither just a comment nor dismissed. */
  opinions: { author: string; state: "approved" | "changes-requested" }[];
  /** The newest reviews, oldest first. */
  reviews: {
    id: string;
    author: string;
    words: string;
    state: "approved" | "changes-requested" | "commented";
    at: number;
    /** The commit that was reviewed. Null if the host doesn't say. */
    headSha: string | null;
  }[];
  /** The people, and the teams as `owner/team`, whose review was requested. */
  requested: string[];
  /** Null if they can't be read. */
  checks: HostedCheck[] | null;
};

/**
 * The result of looking at a pull request. `unreadable` means that the answer doesn't match the
 * API's documentation.
 */
export type PullLook = PullFacts | "not-there" | "unreadable";

/** What changed in a repository since a given time. `etag` identifies this state of the list. */
export type ChangedPulls = {
  pulls: { number: number; updatedAt: number }[];
  /** False if there were more changes than we read. */
  isComplete: boolean;
  etag: string | null;
};

/**
 * Reads pull requests that are followed. All methods reject with a `TransientRunError` if asking
 * again may help, and otherwise with a `RefusedByCodeHostError`.
 */
export type FollowedHost = {
  /** The most pull requests that one call may look at. */
  readonly batch: number;
  /**
   * The pull requests that changed at `since` or later, newest first. `since` is in epoch
   * milliseconds by the host's clock; if it is null, only the newest are read. Resolves to null if
   * nothing has changed since the state that `etag` identifies.
   */
  changed(since: number | null, etag: string | null, signal: AbortSignal): Promise<ChangedPulls | null>;
  look(numbers: readonly number[], signal: AbortSignal): Promise<Map<number, PullLook>>;
  /**
   * The names of the checks that also failed before the pull request's change. Null if they can't
   * be read now.
   */
  failedBefore(facts: PullFacts, signal: AbortSignal): Promise<ReadonlySet<string> | null>;
};
