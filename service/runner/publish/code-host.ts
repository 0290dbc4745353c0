/** A pull request as we need it. */
export type HostedPullRequest = {
  number: number;
  title: string;
  state: "open" | "closed" | "merged";
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
  /** Opens one; "exists" if there is an open one already. */
  create(
    input: { branch: string; base: string; title: string; body: string },
    signal: AbortSignal,
  ): Promise<HostedPullRequest | "exists">;
  /** Resolves to the pull request with its new text. */
  updateBody(number: number, body: string, signal: AbortSignal): Promise<HostedPullRequest>;
  /** One that is known, with its size. */
  get(number: number, signal: AbortSignal): Promise<HostedPullRequest>;
};
