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
