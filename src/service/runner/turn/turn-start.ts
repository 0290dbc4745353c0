import type { BranchPulls } from "../publish/branch-pulls.ts";
import type { Push } from "../publish/earlier-push.ts";
import type { NotedTurn, TurnWork } from "../publish/turn-note.ts";

/** What a turn has pushed, and how to find its pull request. */
export type PushedWork = TurnWork & { push: Push };

/** Where a turn starts. */
export type TurnStart = {
  /** The commit that it builds on. */
  commit: string;
  /**
   * The commit that all of the job's changes are compared with, including those of its earlier
   * turns.
   */
  base: string;
  /** The job's branch at the remote, or null if there is none. */
  job: string | null;
  pulls: BranchPulls;
  /** The job's earlier turns that have pushed something. */
  earlier: NotedTurn[];
  /**
   * What an earlier attempt pushed, so that only its pull request is left to do. Null if there was
   * none.
   */
  pushed: PushedWork | null;
};
