import { mkdir } from "node:fs/promises";
import { createServer } from "node:http";
import { closeNow, listenOnLoopback } from "../loopback-server.ts";
import { createCodeHostApp, type Log } from "./app.ts";
import { CodeHostError } from "./errors.ts";
import { serveWithFaults, type Traffic } from "./faults.ts";
import { Git } from "./git.ts";
import { Host, type Rules, type WayBack } from "./host.ts";
import type { PullRequest } from "./pull-request-store.ts";
import { Repositories } from "./repositories.ts";
import { Tokens } from "./tokens.ts";

export { CodeHostError } from "./errors.ts";
export type { CodeHostFault, Traffic } from "./faults.ts";
export type { PullRequest } from "./pull-request-store.ts";

export type CodeHostOptions = {
  /** Where repositories and pull requests are kept. One code host at a time. */
  dataDir: string;
  /** @default any free one */
  port?: number;
  /** @default "127.0.0.1" */
  host?: string;
  /**
   * Who shows one of these may push and may open, change and merge pull requests. Everyone may
   * read.
   */
  tokens: string[];
  logger?: Log;
  /** The `PATH` to find git in. @default the system's own */
  searchPath?: string | undefined;
  now?: () => Date;
  /** Where people came from; linked on every repository's and pull request's page. */
  home?: () => WayBack;
};

export type CodeHost = AsyncDisposable & {
  /** Where its pages are, without a slash at the end. */
  readonly url: string;
  /** The root of its REST API: Octokit's `baseUrl`. */
  readonly apiUrl: string;
  /** What came in, and a way to break it. */
  readonly traffic: Traffic;
  readonly rules: Rules;
  gitUrl(owner: string, repo: string): string;
  /**
   * The pull requests of a repository, in the order of their numbers; none where there is no such
   * repository.
   */
  pullRequests(owner: string, repo: string): readonly PullRequest[];
  /**
   * Makes a repository whose only commit, on `main`, holds a folder's files. One that exists is
   * left as it is. Resolves to whether it was made. Throws `CodeHostError` for a name that cannot
   * be one.
   */
  createRepository(owner: string, repo: string, fromDirectory: string): Promise<boolean>;
  /** Stops listening and ends open connections. */
  close(): Promise<void>;
};

const SILENT: Log = { info: () => {}, error: () => {} };

/**
 * A small local stand-in for GitHub: git over HTTP, part of its REST API, and pages for pull
 * requests.
 */
export async function createCodeHost(options: CodeHostOptions): Promise<CodeHost> {
  const { dataDir, tokens, port = 0, host: address = "127.0.0.1", logger: log = SILENT } = options;
  const now = options.now ?? (() => new Date());
  await mkdir(dataDir, { recursive: true });
  const git = new Git(dataDir, options.searchPath);
  await checkGit(git);
  let url = "";
  const host = new Host({
    repositories: new Repositories(dataDir, git),
    tokens: new Tokens(tokens),
    dataDir,
    links: () => ({ url, apiUrl: `${url}/api/v3`, home: options.home?.() ?? null }),
    now,
  });
  await host.open();
  const { traffic, listener } = serveWithFaults(createCodeHostApp({ host, git, log }));
  const server = createServer(listener);
  const bound = await listenOnLoopback(server, port, address);
  url = `http://${address.includes(":") ? `[${address}]` : address}:${bound}`;
  log.info({ url }, "code host listens");

  const close = () => closeNow(server);

  return {
    url,
    apiUrl: host.links().apiUrl,
    traffic,
    rules: host.rules,
    gitUrl: (owner, repo) => `${url}/${owner}/${repo}.git`,
    pullRequests: (owner, repo) => host.find(owner, repo)?.all() ?? [],
    createRepository: (owner, repo, fromDirectory) => host.create(owner, repo, fromDirectory),
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function checkGit(git: Git): Promise<void> {
  const version = await git.run(["--version"]);
  const [, major = "0", minor = "0"] = /(\d+)\.(\d+)/.exec(version) ?? [];
  // `git merge-tree --write-tree`, which merges without a working copy, came with 2.38.
  if (Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 38)) return;
  throw new CodeHostError(`git 2.38 or newer is needed; this is ${version.trim()}. Install a newer one`);
}
