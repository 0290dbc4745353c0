import { isAbsolute } from "node:path";
import type { Redact } from "../../../base/redaction.ts";
import { TransientRunError, TurnFailedError } from "../../../base/run-error.ts";
import { type Env, pickEnv, serviceProxy } from "../../../config/env.ts";
import { repositoryKind } from "../../../config/repository.ts";
import { runProgram } from "../process-group.ts";
import { type FetchWatch, withoutProgress } from "./fetch-watch.ts";
import { GitError, localFault, remoteFault } from "./git-fault.ts";

export type GitCall = {
  /** @default the repository itself */
  cwd?: string;
  stdin?: Uint8Array | string;
  /** Additional variables, such as `GIT_INDEX_FILE`. */
  env?: Readonly<Record<string, string>>;
  /** Set this if the command contacts it. */
  remote?: Remote;
  /** Exit codes that count as success. @default [0] */
  okCodes?: readonly number[];
  /** @default 5 minutes, 15 with a remote, a day with a watch */
  timeLimitMs?: number;
  /** Watches a fetch instead of a limit on its whole time. */
  watch?: FetchWatch;
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
const WATCHED_TIME_LIMIT_MS = 24 * 60 * 60_000;
const MAX_STDOUT_BYTES = 64 * 1024 * 1024;
/** Of it, what is read of a failure: the lines of a push. */
const MAX_SAID_BYTES = 8000;

/**
 * Runs git commands in one repository: without a shell, foreign configuration or prompts, and with
 * limited time and output.
 */
export class GitRunner {
  readonly gitDir: string;
  readonly #options: GitOptions;

  constructor(options: GitOptions) {
    this.gitDir = options.gitDir;
    this.#options = options;
  }

  /**
   * Resolves to the command's standard output. In `args`, variable values must come after the
   * options. Rejects with a `TransientRunError` or `TurnFailedError` if the command contacted a
   * remote, otherwise with a `GitError`, and with the signal's reason if aborted.
   */
  async run(args: readonly string[], call: GitCall = {}): Promise<Buffer> {
    const { signal, redact } = this.#options;
    const { remote, watch, okCodes = [0] } = call;
    const timeLimitMs = call.timeLimitMs ?? usualLimitMs(call);
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
        onStderr: (chunk) => watch?.read(chunk),
      },
      watch ? AbortSignal.any([signal, watch.signal]) : signal,
    );
    signal.throwIfAborted();
    const doing = `git ${args[0] ?? ""}`;
    // Not a `GitError`, which would mean that the repository is broken.
    const reason = remote ? "Git failed with the git server." : "Git failed on the service's machine.";
    const broken = (detail: string) => new TransientRunError(reason, { details: [`${doing} ${detail}`] });
    switch (ending.kind) {
      case "exited": {
        if (ending.code !== null && okCodes.includes(ending.code)) return stdout;
        const said = {
          stdout: redact(stdout.toString("utf8", 0, MAX_SAID_BYTES)),
          stderr: redact(withoutProgress(stderr)),
        };
        throw remote ? remoteFault(doing, said) : localFault(doing, said);
      }
      case "time-limit":
        throw broken("took too long and was stopped.");
      case "output-limit":
        throw new GitError(`${doing} wrote more than ${MAX_STDOUT_BYTES} bytes.`);
      case "not-started":
        throw broken(`couldn't be started: ${ending.problem}. Check that git is installed.`);
      case "stopped":
        if (watch?.signal.aborted !== true) throw broken("was stopped.");
        throw new TransientRunError("The git server stopped sending.", {
          details: [`${doing} made no progress and was stopped.`],
        });
    }
  }

  /** Like {@link run}, trimmed. */
  async text(args: readonly string[], call?: GitCall): Promise<string> {
    return (await this.run(args, call)).toString("utf8").trim();
  }

  /** Like {@link run}, split at the zero bytes of the option `-z`. */
  async lines(args: readonly string[], call?: GitCall): Promise<string[]> {
    const text = (await this.run(args, call)).toString("utf8");
    return text.split("\0").filter((line) => line !== "");
  }

  /**
   * The whole environment of a git process: nothing from the user's or the system's configuration.
   * Settings are passed as variables, because every process on the machine can see arguments.
   */
  #env({ remote, env, watch }: GitCall): Record<string, string> {
    const { env: ours, home } = this.#options;
    const settings: GitSetting[] = [
      ...SETTINGS,
      ["protocol.file.allow", remote?.kind === "local" ? "always" : "never"],
      ["protocol.ssh.allow", remote?.kind === "ssh" ? "always" : "never"],
      // A server that counts its objects sends little for a long time.
      ["http.lowSpeedTime", watch ? "0" : "60"],
      ...(remote?.credentials ?? []),
    ];
    return {
      ...pickEnv(ours, PASSED_ON),
      ...proxyEnv(ours),
      HOME: home,
      LC_ALL: "C",
      GIT_DIR: this.gitDir,
      GIT_TERMINAL_PROMPT: "0",
      GIT_SSH_COMMAND: "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes -o ConnectTimeout=30",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_ATTR_NOSYSTEM: "1",
      GIT_NO_REPLACE_OBJECTS: "1",
      GIT_OPTIONAL_LOCKS: "0",
      GIT_CONFIG_COUNT: String(settings.length),
      ...Object.fromEntries(
        settings.flatMap(([key, value], index) => [
          [`GIT_CONFIG_KEY_${index}`, key],
          [`GIT_CONFIG_VALUE_${index}`, value],
        ]),
      ),
      ...env,
    };
  }
}

function usualLimitMs({ remote, watch }: GitCall): number {
  if (watch) return WATCHED_TIME_LIMIT_MS;
  return remote ? REMOTE_TIME_LIMIT_MS : LOCAL_TIME_LIMIT_MS;
}

/** The service's variables that git may see: how to find itself and how to reach the network. */
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
 * These take precedence over every configuration file. They turn off everything that could run a
 * program, contact another machine, or change contents. Who a commit is by, and what signs it, is
 * said where it is made (`commit-tree.ts`).
 */
const SETTINGS: readonly GitSetting[] = [
  ["user.useConfigOnly", "true"],
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
  // A redirect could carry the request, and what it contains, to a host that nobody named.
  ["http.followRedirects", "false"],
  ["http.lowSpeedLimit", "500"],
  // `upkeep.ts` packs mirrors when nobody is waiting.
  ["maintenance.auto", "false"],
  ["gc.auto", "0"],
  ["commit.gpgSign", "false"],
  ["gpg.format", "ssh"],
  ["push.gpgSign", "false"],
];

/**
 * The proxies as we read them. Git itself only knows HTTP_PROXY in lower case, and doesn't use it
 * for https.
 */
function proxyEnv(env: Env): Record<string, string> {
  const { http, https, none } = serviceProxy(env);
  const variables = { http_proxy: http, https_proxy: https || http, no_proxy: none };
  return Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ""));
}

/** Where a repository is fetched from and pushed to. */
type Remote = ReturnType<typeof remoteOf>;

/**
 * The remote of a project's repository. `credentials` are a token or `user:password`. They are sent
 * as a header, to this origin only. For ssh, the operator's ssh agent authenticates. Throws for an
 * address that isn't allowed, and for a path that isn't absolute.
 */
export function remoteOf(repository: string, credentials: string | null) {
  const kind = repositoryKind(repository);
  if (kind === null || (kind === "local" && !isAbsolute(repository))) {
    throw new TurnFailedError("The project's repository isn't set up correctly.", {
      details: ["repository must be an https or ssh URL without credentials, or an absolute path."],
    });
  }
  const url = URL.parse(repository);
  const isSent = kind === "http" && url !== null && credentials !== null;
  const header = isSent ? `Authorization: Basic ${basicOf(credentials)}` : "";
  return {
    /** Without credentials, because it appears in arguments. */
    url: kind === "local" || url === null ? repository : url.href,
    kind,
    /** Configuration with the credentials, to be passed by environment. Empty without any. */
    credentials: isSent ? [[`http.${url.origin}/.extraHeader`, header] as const] : [],
  };
}

/** GitHub, GitLab and Gitea all accept a token as the password of any user. */
function basicOf(credentials: string): string {
  const pair = credentials.includes(":") ? credentials : `x-access-token:${credentials}`;
  return Buffer.from(pair).toString("base64");
}
