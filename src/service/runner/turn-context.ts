import type { Clock, Logger } from "../../shared/machine/ports.ts";
import type { ServiceProject } from "../config/config.ts";
import type { Env, networkOf } from "../config/env.ts";
import type { LeftOut } from "../network/gateway/model-gateway.ts";
import type { RunTurnInput, RunTurnResult } from "./runner.ts";
import type { Apart } from "./process/apart/apart.ts";
import type { RunnerFolders } from "./workspace/folders.ts";
import type { Committer } from "./workspace/git/commit-tree.ts";
import type { Mirror } from "./workspace/git/mirror.ts";
import type { KeptSessions } from "./workspace/kept-sessions.ts";
import type { CommitHost } from "../pulls/code-host/github-commits.ts";
import type { PullRequestHost } from "../pulls/code-host/github-code-host.ts";
import type { ReviewHost } from "../pulls/code-host/github-reviews.ts";
import type { Redact } from "../base/redaction.ts";
import type { Sandbox } from "./workspace/sandbox/sandbox.ts";
import type { KeptTrees } from "./workspace/tree/kept-trees.ts";
import type { KeptOutputs } from "./turn/checks/kept-outputs.ts";

/** A turn, as the runner's steps see it. */
export type RunnerTurn = Omit<RunTurnInput, "signal" | "report" | "ask" | "notes" | "lease" | "lent"> & {
  material?: TurnMaterial;
  /** What open pull requests of other jobs change near what is asked, quoted for the agent. */
  othersChanges?: string;
};

/**
 * What others said that the turn is about, quoted for its agent. The agent answers so many
 * `comments` in it, which are numbered from 1.
 */
export type TurnMaterial = { text: string; comments: number };

/** A turn's own words, without its project and the turns before it. */
export function wordsOf({ jobId, number, kind, prompt, words, requester }: RunnerTurn) {
  return { jobId, number, kind, prompt, words, requester };
}

/** A repository that agents may read besides the docs. */
export type ContextRepository = ServiceProject["context"][number] & { mirror: Mirror };

/**
 * A context repository that a turn's agent can read: the files of this commit, in this folder of
 * the machine.
 */
export type OpenContext = ContextRepository & { commit: string; folder: string };

/** What the steps of a turn need. */
export type TurnContext = {
  folders: RunnerFolders;
  mirror: Mirror;
  contextRepositories: readonly ContextRepository[];
  /** Whose commits these are. */
  committer: Committer;
  /** Makes the commits that are pushed. Null if git does. */
  commitHost: CommitHost | null;
  /** Null if branches are pushed without pull requests. */
  codeHost: PullRequestHost | null;
  /** Reads and answers reviews. Null where there are no pull requests. */
  reviewHost: ReviewHost | null;
  network: ReturnType<typeof networkOf>;
  /** The environment variables that the agent gets besides the fixed ones. */
  agentEnv: Readonly<Record<string, string>>;
  sandbox: Sandbox;
  trees: KeptTrees;
  sessions: KeptSessions;
  /** What checks said about base commits. */
  outputs: KeptOutputs;
  env: Env;
  clock: Clock;
  logger: Logger;
  redact: Redact;
  /** Reads what others wrote, with a limit of time and memory. */
  apart: Apart;
  /** The secrets that must not get into a file, in all their forms. */
  secrets: readonly string[];
  /** Does something after the turn's result was reported. */
  afterwards: (act: () => Promise<void>) => void;
  /** Called with what the service itself is doing. */
  onProgress: (line: string) => void;
  /** Called each time something was left out of a model call. */
  onLeftOut: (what: LeftOut) => void;
} & Pick<RunTurnInput, "signal" | "report" | "ask" | "notes">;

/** The result of a run that doesn't fail. */
export type Success = Exclude<RunTurnResult, { kind: "failed" }>;
