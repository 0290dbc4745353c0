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
 * What runs in the tree: a program that speaks ACP over stdio, or any program with the prompt on
 * its standard input.
 */
export type AgentSettings = Pick<
  ServiceProject["agent"],
  "kind" | "command" | "readable" | "instructions" | "styleGuide" | "limits" | "maxOutputBytes" | "terminal"
> & {
  timeLimitMs: number;
  /** Where its variables come from, besides `agentEnv`. */
  preset: ChosenPreset | null;
  /**
   * Whether an ACP agent may ask a person: what the policy does not allow, and questions of its
   * own.
   */
  asks: boolean;
};

/** The docs project as the runner sees it. */
export type RunnerProject = Pick<
  ServiceProject,
  "id" | "repository" | "baseBranch" | "docs" | "portableNames" | "pullRequests" | "verify" | "context"
> & {
  agent: AgentSettings;
  /** Null: branches are pushed, and nobody is asked to merge them. */
  codeHost: Pick<GitHubSettings, "apiUrl" | "owner" | "repo"> | null;
  /** Null where the repository asks for nothing. */
  gitCredentials: GitCredentials | null;
  /** The environment variables that the agent sees besides the fixed ones. */
  agentEnv: Readonly<Record<string, string>>;
  network: ReturnType<typeof networkOf>;
};

/** A turn as the steps of the runner see it. */
export type RunnerTurn = Pick<
  RunTurnInput,
  "jobId" | "number" | "prompt" | "words" | "requester" | "attachments" | "earlierTurns" | "usedBefore"
> & { project: RunnerProject };

/** A repository that agents may read beside the docs. */
export type ContextRepository = RunnerProject["context"][number] & { mirror: Mirror };

/**
 * A context repository as a turn's agent can read it: the files of that commit, in that folder of
 * this machine.
 */
export type OpenContext = ContextRepository & { commit: string; folder: string };

/** What the steps of a turn stand on. */
export type RunContext = {
  folders: RunnerFolders;
  mirror: Mirror;
  contextRepositories: readonly ContextRepository[];
  codeHost: PullRequestHost | null;
  sandbox: Sandbox;
  trees: KeptTrees;
  sessions: KeptSessions;
  /** What checks said of base commits. */
  outputs: KeptOutputs;
  env: Env;
  clock: Clock;
  logger: Logger;
  redact: Redact;
  /** What must not get into a file, in all its forms. */
  secrets: readonly string[];
  /** Does something once the turn's result is told. */
  afterwards: (act: () => Promise<void>) => void;
  /** Told what the service itself does now. */
  onProgress: (line: string) => void;
  /** Takes lines of the agent's that are bounded and clean. */
  onAgentLine: (line: string) => void;
  /** Told what was left out of calls of models, each time. */
  onLeftOut: (what: LeftOut) => void;
} & Pick<
  RunTurnInput,
  "signal" | "onStep" | "onPlan" | "onUsage" | "onAgent" | "onBrief" | "onPushed" | "ask"
>;

/** How a run ends that does not fail. */
export type Success = Exclude<RunTurnResult, { kind: "failed" }>;
