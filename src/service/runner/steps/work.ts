import type { EarlierPush } from "../earlier-push.ts";
import type { Remote } from "../git/remote.ts";
import type { HostedPullRequest } from "../publish/code-host.ts";

/** Where a turn starts. */
export type TurnStart = {
  remote: Remote;
  gitDir: string;
  /** The commit that it builds on. */
  commit: string;
  /** What the job's branch is at the remote; null: there is none. */
  job: string | null;
  pulls: readonly HostedPullRequest[];
  /** What an earlier attempt pushed: only its pull request is left to do. */
  pushed: PushedWork | null;
};

/** What is worth committing of a tree. `commit` is null if nothing is, `files` is how many it changes. */
export type CheckedWork =
  | { commit: string; files: number; leftOut: string[] }
  | { commit: null; leftOut: string[] };

/** What a turn came to, before its pull request. */
export type PushedWork = {
  commit: string;
  summary: string | null;
  leftOut: string[];
  /** Null: this attempt pushed it. */
  earlier: EarlierPush | null;
};
