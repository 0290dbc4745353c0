import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { join } from "node:path";
import { CodeHostError } from "./errors.ts";

const TIMEOUT_MS = 30_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

const CONFIG = {
  // The files in the data folder may belong to another user, as in a container's volume.
  "safe.directory": "*",
  "core.quotePath": "false",
  // Housekeeping in the background would outlive the code host.
  "gc.auto": "0",
  "receive.autogc": "false",
};

export type GitResult = { exitCode: number; stdout: string; stderr: string };
export type GitOptions = { input?: string | Uint8Array; env?: Record<string, string>; cwd?: string };

/** The results of {@link Git.httpBackend}, by the `PATH` in which git was looked for. */
const httpBackends = new Map<string | undefined, string>();

/** Runs git without a shell and without the machine's own configuration. */
export class Git {
  readonly #env: Record<string, string>;
  readonly #searchPath: string | undefined;

  /**
   * `searchPath` is the `PATH` in which to look for git. Without it, the system's default is used.
   */
  constructor(home: string, searchPath: string | undefined) {
    this.#searchPath = searchPath;
    this.#env = {
      ...(searchPath === undefined ? {} : { PATH: searchPath }),
      HOME: home,
      LC_ALL: "C.UTF-8",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_TERMINAL_PROMPT: "0",
    };
  }

  /**
   * Resolves to the path of the program with which git serves repositories over HTTP. Rejects with
   * `CodeHostError` if it is missing or git is too old.
   */
  async httpBackend(): Promise<string> {
    const known = httpBackends.get(this.#searchPath);
    if (known !== undefined) return known;
    const version = await this.run(["--version"]);
    const [, major = "0", minor = "0"] = /(\d+)\.(\d+)/.exec(version) ?? [];
    // `git merge-tree --write-tree`, which merges without a working copy, exists since 2.38.
    if (Number(major) < 2 || (Number(major) === 2 && Number(minor) < 38)) {
      throw new CodeHostError(`git 2.38 or newer is needed; this is ${version.trim()}. Install a newer one`);
    }
    const path = join((await this.run(["--exec-path"])).trim(), "git-http-backend");
    // Some distributions have it in a separate package.
    await access(path, constants.X_OK).catch((cause: unknown) => {
      throw new CodeHostError(`${path} is missing. Install the package of git that has it`, { cause });
    });
    httpBackends.set(this.#searchPath, path);
    return path;
  }

  /**
   * Returns git's environment, for callers that start it themselves. `config` is added to its
   * configuration.
   */
  environment(config: Record<string, string> = {}): Record<string, string> {
    return { ...this.#env, ...configByEnvironment({ ...CONFIG, ...config }) };
  }

  /**
   * Runs git and resolves to the result, whatever the exit code. Rejects with `CodeHostError` if
   * git can't run, takes more than 30 s, or writes too much.
   */
  async try(args: string[], { input = "", env = {}, cwd }: GitOptions = {}): Promise<GitResult> {
    return new Promise((resolve, reject) => {
      const child = execFile(
        "git",
        args,
        {
          env: { ...this.environment(), ...env },
          timeout: TIMEOUT_MS,
          killSignal: "SIGKILL",
          maxBuffer: MAX_OUTPUT_BYTES,
          encoding: "utf8",
          ...(cwd === undefined ? {} : { cwd }),
        },
        (error, stdout, stderr) => {
          if (error === null) resolve({ exitCode: 0, stdout, stderr });
          else if (typeof error.code === "number") resolve({ exitCode: error.code, stdout, stderr });
          else reject(new CodeHostError(`git ${args[0] ?? ""} could not run to its end`, { cause: error }));
        },
      );
      // git may end before it has read its input.
      child.stdin?.on("error", () => {});
      child.stdin?.end(input);
    });
  }

  /** Resolves to git's standard output. Rejects with `CodeHostError` if git fails, too. */
  async run(args: string[], options: GitOptions = {}): Promise<string> {
    return outputOf(args, await this.try(args, options));
  }
}

/** Returns the standard output of a result. Throws `CodeHostError` if git failed. */
export function outputOf(args: string[], { exitCode, stdout, stderr }: GitResult): string {
  if (exitCode === 0) return stdout;
  const name = args.find((arg) => !arg.startsWith("-")) ?? "";
  throw new CodeHostError(`git ${name} ended with ${exitCode}: ${stderr.trim().slice(0, 500)}`);
}

function configByEnvironment(config: Record<string, string>): Record<string, string> {
  const entries = Object.entries(config);
  return Object.fromEntries([
    ["GIT_CONFIG_COUNT", String(entries.length)],
    ...entries.flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ]);
}
