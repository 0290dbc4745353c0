import type { Clock, Logger } from "../../src/core/ports/process.ts";
import type { ChosenPreset } from "../config/agent-presets.ts";
import type { GitHubSettings, ServiceProject } from "../config/config.ts";
import type { Env, networkOf } from "../config/env.ts";
import type { LeftOut } from "../gateway/model-gateway.ts";
import type { RunTurnInput, RunTurnResult } from "./turn-runner.ts";
import type { RunnerFolders } from "./folders.ts";
import type { GitCredentials, Mirror } from "./git/mirror.ts";
import type { KeptSessions } from "./kept-sessions.ts";
import type { PullRequestHost } from "../code-host/code-host.ts";
import type { Redact } from "../base/redaction.ts";
import type { Sandbox } from "./sandbox/sandbox.ts";
import type { KeptTrees } from "./tree/kept-trees.ts";
import type { KeptOutputs } from "./verify/kept-outputs.ts";

/**
 * The agent: a program that speaks ACP over standard input and output, or any program with the
 * prompt on its standard input.
 */
export type AgentSettings = Pick<
  ServiceProject["agent"],
  "kind" | "command" | "readable" | "instructions" | "styleGuide" | "limits" | "maxOutputBytes" | "terminal"
> & {
  timeLimitMs: number;
  /** Where its variables come from, besides `agentEnv`. */
  preset: ChosenPreset | null;
  /**
   * True if an ACP agent may ask a person about what the policy doesn't allow, and questions of its
   * own.
   */
  asks: boolean;
};

/** The docs project, as the runner sees it. */
export type RunnerProject = Pick<
  ServiceProject,
  "id" | "repository" | "baseBranch" | "docs" | "portableNames" | "pullRequests" | "verify" | "context"
> & {
  agent: AgentSettings;
  /** Null if branches are pushed without pull requests. */
  codeHost: Pick<GitHubSettings, "apiUrl" | "owner" | "repo"> | null;
  /** Null if the repository needs none. */
  gitCredentials: GitCredentials | null;
  /** The environment variables that the agent gets besides the fixed ones. */
  agentEnv: Readonly<Record<string, string>>;
  network: ReturnType<typeof networkOf>;
};

/** A turn, as the runner's steps see it. */
export type RunnerTurn = Pick<
  RunTurnInput,
  "jobId" | "number" | "prompt" | "words" | "requester" | "attachments" | "earlierTurns" | "usedBefore"
> & { project: RunnerProject };

/** A repository that agents may read besides the docs. */
export type ContextRepository = RunnerProject["context"][number] & { mirror: Mirror };

/**
 * A context repository that a turn's agent can read: the files of this commit, in this folder of
 * the machine.
 */
export type OpenContext = ContextRepository & { commit: string; folder: string };

/** What the steps of a turn need. */
export type RunContext = {
  folders: RunnerFolders;
  mirror: Mirror;
  contextRepositories: readonly ContextRepository[];
  codeHost: PullRequestHost | null;
  sandbox: Sandbox;
  trees: KeptTrees;
  sessions: KeptSessions;
  /** What checks said about base commits. */
  outputs: KeptOutputs;
  env: Env;
  clock: Clock;
  logger: Logger;
  redact: Redact;
  /** The secrets that must not get into a file, in all their forms. */
  secrets: readonly string[];
  /** Does something after the turn's result was reported. */
  afterwards: (act: () => Promise<void>) => void;
  /** Called with what the service itself is doing. */
  onProgress: (line: string) => void;
  /** Called each time something was left out of a model call. */
  onLeftOut: (what: LeftOut) => void;
} & Pick<RunTurnInput, "signal" | "report" | "ask">;

/** The result of a run that doesn't fail. */
export type Success = Exclude<RunTurnResult, { kind: "failed" }>;
