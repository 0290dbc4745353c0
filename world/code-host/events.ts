import type { LineComment } from "./line-comment.ts";
import type { Comment, PullRequest, GivenReview } from "./pull-request-store.ts";
import type { CommitStatus, Deployment, DeploymentStatus } from "./commit-records.ts";
import type { Repository } from "./repository.ts";

/** The `action` of GitHub's webhook event `pull_request`. */
export type PullRequestAction =
  | "opened"
  | "closed"
  | "reopened"
  | "synchronize"
  | "edited"
  | "labeled"
  | "assigned"
  | "review_requested"
  | "ready_for_review"
  | "converted_to_draft";

/** An event in a repository. It is stored before it is reported. */
export type HostEvent = { repository: Repository; sender: string } & (
  | { kind: "pull-request"; action: PullRequestAction; pullRequest: PullRequest }
  | { kind: "review"; action: "submitted" | "dismissed"; pullRequest: PullRequest; review: GivenReview }
  | { kind: "comment"; pullRequest: PullRequest; comment: Comment }
  | { kind: "line-comment"; pullRequest: PullRequest; comment: LineComment }
  /** All runs of a commit have ended. */
  | { kind: "checks-ended"; sha: string; conclusion: "success" | "failure" }
  | { kind: "status"; status: CommitStatus }
  | { kind: "deployment-status"; deployment: Deployment; status: DeploymentStatus }
);
