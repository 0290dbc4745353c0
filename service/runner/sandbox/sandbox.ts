import { dirname } from "node:path";
import { DocsAgentError } from "../../../src/core/errors.ts";
import { type Env, pickEnv } from "../../config/env.ts";

/** A program and its arguments. */
export type CommandLine = { command: string; args: readonly string[] };

/** What is started to run a program in a sandbox. */
export type ContainedStart = CommandLine & {
  env: Readonly<Record<string, string>>;
  /** Where it is started, on this machine. */
  cwd: string;
  /**
   * Written to file descriptors from 3 on: what no other process of the machine may read in the
   * arguments.
   */
  inputs?: readonly Buffer[];
};

/** Where an agent finds its folders, as it sees them. */
export type InsidePaths = { tree: string; home: string; tmp: string };

/**
 * The sandbox of one turn: everything that is started in it sees the same folders, and nothing else
 * of the machine.
 */
export type TurnSandbox = AsyncDisposable & {
  readonly inside: InsidePaths;
  /**
   * The port of the agent's own 127.0.0.1 that leads to its way out; null: that of this machine is
   * its own.
   */
  readonly networkPort: number | null;
  /**
   * What starts a program in it, in the agent's tree and with this environment. To be used once:
   * mounts below what an agent could write to before lead where it says.
   */
  contain(line: CommandLine, env?: Readonly<Record<string, string>>): ContainedStart;
  /**
   * Whether the kernel ended a process in it because all of them together used more memory than
   * they may.
   */
  ranOutOfMemory(): Promise<boolean>;
};

/** What an agent may use, in megabytes of 1,048,576 bytes. */
export type AgentLimits = { memoryMegabytes: number; processes: number; diskMegabytes: number };

/** Which agent a sandbox is for. */
export type SandboxedAgent = {
  /** On this machine. */
  folders: InsidePaths;
  /** The agent's program. */
  command: string;
  /** Files and folders of the machine that it may read besides. */
  readable: readonly string[];
  /**
   * Folders of the machine that it may read in another place, where it is held in. `at`: an
   * absolute path, or one of a folder in its tree.
   */
  shown?: readonly { from: string; at: string }[];
  limits: AgentLimits;
  /** The socket that its way out listens at; null: it has none, or it isn't held in. */
  networkSocket: string | null;
};

/**
 * What bounds memory or processes: a control group all those of a turn together, a resource limit
 * each process by itself.
 */
export type Bound = "cgroup" | "rlimit" | "none";

/** What holds agents in on this machine. */
export type Sandbox = {
  /** For the log. */
  readonly kind: "bubblewrap" | "none";
  readonly bounds: { memory: Bound; processes: Bound };
  /** Rejects with a `TurnFailedError` when there is no such program. */
  open(agent: SandboxedAgent): Promise<TurnSandbox>;
};

/** Agents can't be held in on this machine as it is. The message says what to do. */
export class SandboxMissingError extends DocsAgentError {
  readonly code = "sandbox_missing";

  constructor(why: string, remedy: string) {
    super(
      `Can't run agents in a sandbox: ${why}.\n${remedy}\nWithout a sandbox, an agent can read ` +
        "and send away all that the service's user can read. If you want that all the same, set " +
        "containment to none.",
    );
  }
}

const PASSED_ON = ["LANG", "LC_ALL", "TZ"] as const;

/**
 * The environment of whatever runs in a sandbox, but for how to find programs: throw-away folders
 * for its own files. None of ours, so no credentials of the code host.
 */
export function plainEnv(env: Env, { home, tmp, tree }: InsidePaths): Record<string, string> {
  return {
    LANG: "C.UTF-8",
    ...pickEnv(env, PASSED_ON),
    TERM: "dumb",
    HOME: home,
    TMPDIR: tmp,
    // Git started in the tree, which is no repository, must not find one that the data folder
    // happens to lie in.
    GIT_CEILING_DIRECTORIES: dirname(tree),
  };
}
