import { dirname } from "node:path";
import { DocsAgentError } from "../../../../shared/errors.ts";
import { type Env, pickEnv } from "../../../config/env.ts";
import type { ProcessOptions } from "../process-group.ts";

/** A program and its arguments. */
export type CommandLine = { command: string; args: readonly string[] };

/** What to start to run a program in a sandbox. */
export type ContainedStart = Pick<ProcessOptions, "command" | "args" | "env" | "cwd" | "inputs">;

/** Where an agent finds its folders, as it sees them. */
export type InsidePaths = { tree: string; home: string; tmp: string };

/**
 * The sandbox of one turn. Everything that is started in it sees the same folders, and nothing else
 * of the machine.
 */
export type TurnSandbox = AsyncDisposable & {
  readonly inside: InsidePaths;
  /**
   * The port of the agent's own 127.0.0.1 that leads to its network. Null if the agent shares this
   * machine's 127.0.0.1.
   */
  readonly networkPort: number | null;
  /**
   * How to start a program in it, in the agent's tree and with this environment. Use the result
   * only once: a program could replace a folder that something is mounted below, and the next mount
   * would follow it.
   */
  contain(line: CommandLine, env?: Readonly<Record<string, string>>): ContainedStart;
  /** True if the kernel ended a process in it because all of them together used too much memory. */
  ranOutOfMemory(): Promise<boolean>;
};

/** What an agent may use. A megabyte is 1,048,576 bytes. */
export type AgentLimits = { memoryMegabytes: number; processes: number; diskMegabytes: number };

/** The agent that a sandbox is for. */
export type SandboxedAgent = {
  /** On this machine. */
  folders: InsidePaths;
  /** The agent's program. */
  command: string;
  /** Further files and folders of the machine that it may read. */
  readable: readonly string[];
  /**
   * Folders of the machine that a contained agent may read in another place. `at` is an absolute
   * path, or that of a folder in its tree.
   */
  shown?: readonly { from: string; at: string }[];
  limits: AgentLimits;
  /** The socket of its network. Null if it has none, or isn't contained. */
  networkSocket: string | null;
};

/**
 * How memory or processes are limited: by a control group for all of a turn together, or by a
 * resource limit for each process.
 */
export type Bound = "cgroup" | "rlimit" | "none";

/** What contains agents on this machine. */
export type Sandbox = {
  /** For the log. */
  readonly kind: "bubblewrap" | "none";
  readonly bounds: { memory: Bound; processes: Bound };
  /** Rejects with a `TurnFailedError` if there is no such program. */
  open(agent: SandboxedAgent): Promise<TurnSandbox>;
};

/** Agents can't be contained on this machine as it is. The message says what to do. */
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
 * The environment of everything that runs in a sandbox, except for how to find programs. Its files
 * go to temporary folders. It contains nothing of ours, and so no credentials.
 */
export function plainEnv(env: Env, { home, tmp, tree }: InsidePaths): Record<string, string> {
  return {
    LANG: "C.UTF-8",
    ...pickEnv(env, PASSED_ON),
    TERM: "dumb",
    HOME: home,
    TMPDIR: tmp,
    // Git, when started in the tree, which isn't a repository, mustn't find one that the data
    // folder happens to be in.
    GIT_CEILING_DIRECTORIES: dirname(tree),
  };
}
