import { execFile } from "node:child_process";
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
export type GitOptions = { input?: string; env?: Record<string, string>; cwd?: string };

/** Runs git, without a shell and without the machine's own configuration. */
export class Git {
  readonly #env: Record<string, string>;

  /** `searchPath` is the `PATH` in which git is looked for; absent, the system's default one. */
  constructor(home: string, searchPath: string | undefined) {
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
    const { exitCode, stdout, stderr } = await this.try(args, options);
    if (exitCode !== 0) {
      const name = args.find((arg) => !arg.startsWith("-")) ?? "";
      throw new CodeHostError(`git ${name} ended with ${exitCode}: ${stderr.trim().slice(0, 500)}`);
    }
    return stdout;
  }
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
