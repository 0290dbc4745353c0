import type { Env } from "../../env.ts";
import type { Redact } from "../redaction.ts";
import { TransientRunError } from "../run-error.ts";
import { runProgram } from "../run-program.ts";
import { gitEnv, type GitSetting } from "./git-env.ts";
import { GitError, localFault, remoteFault } from "./git-fault.ts";
import type { Remote } from "./remote.ts";

export type GitCall = {
  /** Never a shell's words; whatever varies comes after the options. */
  args: readonly string[];
  gitDir: string;
  /** @default gitDir */
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
  signal: AbortSignal;
};

export type GitDeps = {
  env: Env;
  /** An empty folder for `HOME`. */
  home: string;
  redact: Redact;
};

const LOCAL_TIME_LIMIT_MS = 5 * 60_000;
const REMOTE_TIME_LIMIT_MS = 15 * 60_000;
const MAX_STDOUT_BYTES = 64 * 1024 * 1024;

/** Runs git commands: no shell, no foreign configuration, no prompt, bounded in time and output. */
export class SafeGit {
  readonly #deps: GitDeps;

  constructor(deps: GitDeps) {
    this.#deps = deps;
  }

  /**
   * Resolves to what the command wrote to standard output. Rejects with a `TransientRunError` or `TurnFailedError` where the
   * command talked to a remote, with a `GitError` otherwise, and with the signal's reason when aborted.
   */
  async run(call: GitCall): Promise<Buffer> {
    call.signal.throwIfAborted();
    const { ending, stdout, stderr } = await runProgram(
      {
        command: "git",
        args: call.args,
        cwd: call.cwd ?? call.gitDir,
        env: this.#env(call),
        stdin: call.stdin ?? "",
        timeLimitMs: call.timeLimitMs ?? (call.remote ? REMOTE_TIME_LIMIT_MS : LOCAL_TIME_LIMIT_MS),
        maxOutputBytes: MAX_STDOUT_BYTES,
      },
      call.signal,
    );
    call.signal.throwIfAborted();
    const doing = `git ${call.args[0] ?? ""}`;
    switch (ending.kind) {
      case "exited":
        if (ending.code !== null && (call.okCodes ?? [0]).includes(ending.code)) return stdout;
        throw this.#fault(doing, call, `${stderr}\n${call.remote ? stdout.toString("utf8") : ""}`);
      case "time-limit":
        throw broken(call, `${doing} took too long and was stopped.`);
      case "output-limit":
        throw new GitError(`${doing} wrote more than ${MAX_STDOUT_BYTES} bytes.`);
      case "not-started":
        throw broken(call, `${doing} couldn't be started: ${ending.problem}. Check that git is installed.`);
      case "stopped":
        throw broken(call, `${doing} was stopped.`);
    }
  }

  /** The same, as text without surrounding white space. */
  async text(call: GitCall): Promise<string> {
    return (await this.run(call)).toString("utf8").trim();
  }

  /** The same, as the lines that the option `-z` ends with a zero byte. */
  async lines(call: GitCall): Promise<string[]> {
    const text = (await this.run(call)).toString("utf8");
    return text.split("\0").filter((line) => line !== "");
  }

  #env(call: GitCall): Record<string, string> {
    const settings: GitSetting[] = [
      ["protocol.file.allow", call.remote?.kind === "local" ? "always" : "never"],
      ["protocol.ssh.allow", call.remote?.kind === "ssh" ? "always" : "never"],
      ...(call.remote?.credentials ?? []),
    ];
    return {
      ...gitEnv(this.#deps.env, this.#deps.home, settings),
      GIT_DIR: call.gitDir,
      ...call.env,
    };
  }

  #fault(doing: string, call: GitCall, words: string): Error {
    const clean = this.#deps.redact(words);
    return call.remote ? remoteFault(doing, clean) : localFault(doing, clean);
  }
}

/** Says nothing about the mirror, as a `GitError` would. */
function broken({ remote }: GitCall, detail: string): TransientRunError {
  const reason = remote ? "Git failed with the git server." : "Git failed on the service's machine.";
  return new TransientRunError(reason, { details: [detail] });
}
