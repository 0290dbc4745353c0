import type { Env } from "../../config/env.ts";
import { runProgram } from "../process-group.ts";
import type { Redact } from "../../base/redaction.ts";
import { TransientRunError } from "../../base/run-error.ts";
import { gitEnv, type GitSetting } from "./git-env.ts";
import { GitError, localFault, remoteFault } from "./git-fault.ts";
import type { Remote } from "./remote.ts";

export type GitCall = {
  /** @default the repository itself */
  cwd?: string;
  stdin?: Uint8Array | string;
  /** More variables, such as `GIT_INDEX_FILE`. */
  env?: Readonly<Record<string, string>>;
  /** Given when the command talks to it. */
  remote?: Remote;
  /** Exit codes that are answers. @default [0] */
  okCodes?: readonly number[];
  /** @default 5 minutes, 15 with a remote */
  timeLimitMs?: number;
};

type GitOptions = {
  gitDir: string;
  env: Env;
  /** An empty folder for `HOME`. */
  home: string;
  redact: Redact;
  signal: AbortSignal;
};

const LOCAL_TIME_LIMIT_MS = 5 * 60_000;
const REMOTE_TIME_LIMIT_MS = 15 * 60_000;
const MAX_STDOUT_BYTES = 64 * 1024 * 1024;

/**
 * Runs git commands in one repository: no shell, no foreign configuration, no prompt, bounded in
 * time and output.
 */
export class GitRunner {
  readonly gitDir: string;
  readonly #options: GitOptions;

  constructor(options: GitOptions) {
    this.gitDir = options.gitDir;
    this.#options = options;
  }

  /**
   * Resolves to what the command wrote to standard output. In `args`, whatever varies comes after
   * the options. Rejects with a `TransientRunError` or `TurnFailedError` where the command talked
   * to a remote, with a `GitError` otherwise, and with the signal's reason when aborted.
   */
  async run(args: readonly string[], call: GitCall = {}): Promise<Buffer> {
    const { signal, redact } = this.#options;
    const { remote, okCodes = [0], timeLimitMs = remote ? REMOTE_TIME_LIMIT_MS : LOCAL_TIME_LIMIT_MS } = call;
    signal.throwIfAborted();
    const { ending, stdout, stderr } = await runProgram(
      {
        command: "git",
        args,
        cwd: call.cwd ?? this.gitDir,
        env: this.#env(call),
        stdin: call.stdin ?? "",
        timeLimitMs,
        maxOutputBytes: MAX_STDOUT_BYTES,
      },
      signal,
    );
    signal.throwIfAborted();
    const doing = `git ${args[0] ?? ""}`;
    // A `GitError` would say that the repository is broken.
    const broken = (detail: string) =>
      new TransientRunError(
        remote ? "Git failed with the git server." : "Git failed on the service's machine.",
        { details: [`${doing} ${detail}`] },
      );
    switch (ending.kind) {
      case "exited":
        if (ending.code !== null && okCodes.includes(ending.code)) return stdout;
        throw remote
          ? remoteFault(doing, redact(`${stderr}\n${stdout.toString("utf8")}`))
          : localFault(doing, redact(stderr));
      case "time-limit":
        throw broken("took too long and was stopped.");
      case "output-limit":
        throw new GitError(`${doing} wrote more than ${MAX_STDOUT_BYTES} bytes.`);
      case "not-started":
        throw broken(`couldn't be started: ${ending.problem}. Check that git is installed.`);
      case "stopped":
        throw broken("was stopped.");
    }
  }

  /** The same, as text without surrounding white space. */
  async text(args: readonly string[], call?: GitCall): Promise<string> {
    return (await this.run(args, call)).toString("utf8").trim();
  }

  /** The same, as the lines that the option `-z` ends with a zero byte. */
  async lines(args: readonly string[], call?: GitCall): Promise<string[]> {
    const text = (await this.run(args, call)).toString("utf8");
    return text.split("\0").filter((line) => line !== "");
  }

  #env({ remote, env }: GitCall): Record<string, string> {
    const settings: GitSetting[] = [
      ["protocol.file.allow", remote?.kind === "local" ? "always" : "never"],
      ["protocol.ssh.allow", remote?.kind === "ssh" ? "always" : "never"],
      ...(remote?.credentials ?? []),
    ];
    const { env: ours, home } = this.#options;
    return { ...gitEnv(ours, home, settings), GIT_DIR: this.gitDir, ...env };
  }
}
