import type { RunTurnInput, RunTurnResult } from "../turn-runner.ts";
import type { SafeGit } from "./git/git.ts";
import type { KeyedLock } from "./keyed-lock.ts";
import type { PullRequestHost } from "./publish/code-host.ts";
import type { AgentContext } from "./run-agent.ts";
import type { Author } from "./runner-turn.ts";
import type { TreePool } from "./tree/tree-pool.ts";

/** What the steps of a turn stand on. */
export type RunContext = AgentContext & {
  git: SafeGit;
  codeHost: PullRequestHost | null;
  mirrorLock: KeyedLock;
  trees: TreePool;
  author: Author;
  /** What must not get into a file, in all its forms. */
  secrets: readonly string[];
  /** Told what the service itself does now. */
  onProgress: (line: string) => void;
} & Pick<RunTurnInput, "onAgent" | "onPushed">;

/** How a run ends that does not fail. */
export type Success = Exclude<RunTurnResult, { kind: "failed" }>;
