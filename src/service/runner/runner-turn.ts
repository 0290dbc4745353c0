import type { ReportedUsage } from "../../core/job-service.ts";
import type { ChosenPreset } from "../agent-presets.ts";
import type { networkOf } from "../project-secrets.ts";
import type { EarlierTurn, TurnAttachment } from "../turn-runner.ts";
import type { AgentLimits } from "./sandbox/sandbox.ts";

/** What runs in the tree: a program that speaks ACP over stdio, or any program with the prompt on its standard input. */
export type AgentSettings = {
  kind: "acp" | "command";
  /** Program and arguments; never given to a shell. */
  command: readonly string[];
  /** Files and folders of this machine that it may read in its sandbox: absolute, and there. */
  readable: readonly string[];
  limits: AgentLimits;
  timeLimitMs: number;
  /** Standard output and standard error together. */
  maxOutputBytes: number;
  /** Whether an ACP agent may start programs through us. */
  terminal: boolean;
  /** Where its variables come from, besides `agentEnv`. */
  preset: ChosenPreset | null;
  /** Whether an ACP agent may ask a person: what the policy does not allow, and questions of its own. */
  asks: boolean;
};

/** The docs project as the runner sees it. */
export type RunnerProject = {
  id: string;
  /** An http(s) or ssh address without credentials, or an absolute path. */
  repository: string;
  baseBranch: string;
  docs: readonly string[];
  portableNames: boolean;
  agent: AgentSettings;
  /** Null: branches are pushed, and nobody is asked to merge them. */
  codeHost: { apiUrl: string; owner: string; repo: string; token: string | null; tokenEnv: string } | null;
  /** What git authenticates with: a token or `user:password`; null where the repository asks for nothing. */
  gitCredentials: string | null;
  /** The environment variables that the agent sees besides the fixed ones. */
  agentEnv: Readonly<Record<string, string>>;
  network: ReturnType<typeof networkOf>;
};

/** A turn as the steps of the runner see it. */
export type RunnerTurn = {
  jobId: string;
  number: number;
  prompt: string;
  /** What of the prompt the person typed, the only part that may be published; null: it isn't known, or nothing. */
  words: string | null;
  attachments: readonly TurnAttachment[];
  /** The newest of them. */
  earlierTurns: readonly EarlierTurn[];
  project: RunnerProject;
  /** By earlier attempts. */
  usedBefore: ReportedUsage | null;
};

/** Who the commits are by. */
export type Author = { name: string; email: string };
