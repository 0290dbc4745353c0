import { isAbsolute } from "node:path";
import type { Redact } from "../../base/redaction.ts";
import { TransientRunError, TurnFailedError } from "../../base/run-error.ts";
import { type Env, pickEnv, serviceProxy } from "../../config/env.ts";
import { repositoryKind } from "../../config/repository.ts";
import { runProgram } from "../process-group.ts";
import { GitError, localFault, remoteFault } from "./git-fault.ts";

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

/**
 * What git may know of the service's environment: how to find itself and how to reach the network.
 */
const PASSED_ON = [
  "PATH",
  "ALL_PROXY",
  "all_proxy",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "GIT_SSL_CAINFO",
  "SSH_AUTH_SOCK",
] as const;

type GitSetting = readonly [key: string, value: string];

/**
 * Outweighs every configuration file: what could run a program, leave the machine unasked, or
 * change contents is off.
 */
const SETTINGS: readonly GitSetting[] = [
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["core.attributesFile", "/dev/null"],
  ["core.excludesFile", "/dev/null"],
  ["core.symlinks", "false"],
  ["core.autocrlf", "false"],
  ["core.pager", "cat"],
  ["core.askPass", ""],
  ["credential.helper", ""],
  ["submodule.recurse", "false"],
  ["fetch.recurseSubmodules", "false"],
  ["protocol.allow", "never"],
  ["protocol.http.allow", "always"],
  ["protocol.https.allow", "always"],
  // A redirect could carry the request, and what it says, to a host that nobody named.
  ["http.followRedirects", "false"],
  ["http.lowSpeedLimit", "500"],
  ["http.lowSpeedTime", "60"],
  // Mirrors are packed by `upkeep.ts`, when nobody waits.
  ["maintenance.auto", "false"],
  ["gc.auto", "0"],
  ["commit.gpgSign", "false"],
  ["push.gpgSign", "false"],
];

/**
 * The whole environment of a git process: nothing of the user's or the system's configuration, and
 * `settings` (where credentials go) on top. Settings travel as variables because arguments are
 * visible to every process on the machine.
 */
function gitEnv(env: Env, home: string, settings: readonly GitSetting[]): Record<string, string> {
  const all = [...SETTINGS, ...settings];
  return {
    ...pickEnv(env, PASSED_ON),
    ...proxyEnv(env),
    HOME: home,
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    GIT_SSH_COMMAND: "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes -o ConnectTimeout=30",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_NO_REPLACE_OBJECTS: "1",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_CONFIG_COUNT: String(all.length),
    ...Object.fromEntries(
      all.flatMap(([key, value], index) => [
        [`GIT_CONFIG_KEY_${index}`, key],
        [`GIT_CONFIG_VALUE_${index}`, value],
      ]),
    ),
  };
}

/**
 * As we read them: git itself knows HTTP_PROXY in lower case only, and doesn't take it for https.
 */
function proxyEnv(env: Env): Record<string, string> {
  const { http, https, none } = serviceProxy(env);
  const variables = { http_proxy: http, https_proxy: https || http, no_proxy: none };
  return Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ""));
}

/** Where a repository is fetched from and pushed to. */
type Remote = {
  /** Without credentials: it appears in arguments. */
  url: string;
  kind: "http" | "ssh" | "local";
  /**
   * Configuration that carries the credentials, to be given by environment; empty where none are
   * needed.
   */
  credentials: ReadonlyArray<readonly [key: string, value: string]>;
};

/**
 * The remote of a project's repository. `credentials`, a token or `user:password`, go out as a
 * header and to that origin only; over ssh the operator's ssh agent answers. Throws for an address
 * that is not allowed, and for a path that is not absolute.
 */
export function remoteOf(repository: string, credentials: string | null): Remote {
  const kind = repositoryKind(repository);
  if (kind === null || (kind === "local" && !isAbsolute(repository))) {
    throw new TurnFailedError("The project's repository isn't set up correctly.", {
      details: ["repository must be an https or ssh URL without credentials, or an absolute path."],
    });
  }
  const url = URL.parse(repository);
  if (kind === "local" || url === null) return { url: repository, kind, credentials: [] };
  if (kind === "ssh" || credentials === null) return { url: url.href, kind, credentials: [] };
  return {
    url: url.href,
    kind,
    credentials: [[`http.${url.origin}/.extraHeader`, `Authorization: Basic ${basicOf(credentials)}`]],
  };
}

/** GitHub, GitLab and Gitea all take a token as the password of any user. */
function basicOf(credentials: string): string {
  const pair = credentials.includes(":") ? credentials : `x-access-token:${credentials}`;
  return Buffer.from(pair).toString("base64");
}
