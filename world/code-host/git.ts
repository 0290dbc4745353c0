import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { join } from "node:path";
import { CodeHostError } from "./errors.ts";

const TIMEOUT_MS = 30_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

const CONFIG = {
  // What lies in the data folder may belong to another user, as in a container's volume.
  "safe.directory": "*",
  "core.quotePath": "false",
  // Housekeeping in the background would outlive the code host.
  "gc.auto": "0",
  "receive.autogc": "false",
};

export type GitResult = { exitCode: number; stdout: string; stderr: string };
export type GitOptions = { input?: string | Uint8Array; env?: Record<string, string>; cwd?: string };

/** What {@link Git.httpBackend} found, by the `PATH` that git was looked for in. */
const httpBackends = new Map<string | undefined, string>();

/** Runs git, without a shell and without the machine's own configuration. */
export class Git {
  readonly #env: Record<string, string>;
  readonly #searchPath: string | undefined;

  /** `searchPath` is the `PATH` in which git is looked for; absent, the system's default one. */
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
   * The path of git's program that serves repositories over HTTP. Throws `CodeHostError` if it is
   * missing, or git is too old.
   */
  async httpBackend(): Promise<string> {
    const known = httpBackends.get(this.#searchPath);
    if (known !== undefined) return known;
    const version = await this.run(["--version"]);
    const [, major = "0", minor = "0"] = /(\d+)\.(\d+)/.exec(version) ?? [];
    // `git merge-tree --write-tree`, which merges without a working copy, came with 2.38.
    if (Number(major) < 2 || (Number(major) === 2 && Number(minor) < 38)) {
      throw new CodeHostError(`git 2.38 or newer is needed; this is ${version.trim()}. Install a newer one`);
    }
    const path = join((await this.run(["--exec-path"])).trim(), "git-http-backend");
    // Some distributions have it in a package of its own.
    await access(path, constants.X_OK).catch((cause: unknown) => {
      throw new CodeHostError(`${path} is missing. Install the package of git that has it`, { cause });
    });
    httpBackends.set(this.#searchPath, path);
    return path;
  }

  /**
   * The environment that git gets, for a caller that starts it itself; `config` is added to its
   * configuration.
   */
  environment(config: Record<string, string> = {}): Record<string, string> {
    return { ...this.#env, ...configByEnvironment({ ...CONFIG, ...config }) };
  }

  /**
   * The result, whatever the exit code. Throws `CodeHostError` when git cannot run, takes over 30 s
   * or floods.
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
      // git may end without reading its input.
      child.stdin?.on("error", () => {});
      child.stdin?.end(input);
    });
  }

  /** Its standard output. Throws `CodeHostError` also when git fails. */
  async run(args: string[], options: GitOptions = {}): Promise<string> {
    return outputOf(args, await this.try(args, options));
  }
}

/** A result's standard output. Throws `CodeHostError` when git failed. */
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
