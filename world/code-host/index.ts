import { mkdir } from "node:fs/promises";
import { createServer } from "node:http";
import { closeNow, listenOnLoopback } from "../loopback-server.ts";
import { type Calls, CallLimits } from "./api/call-limits.ts";
import { Apps } from "./apps.ts";
import { createCodeHostApp, type Log } from "./app.ts";
import { type CheckResult, setCheck } from "./checks.ts";
import { CodeHostError } from "./errors.ts";
import type { HostEvent } from "./events.ts";
import { serveWithFaults, type Traffic } from "./faults.ts";
import { Git } from "./git.ts";
import { Host, type Rules, type WayBack } from "./host.ts";
import type { PullRequest } from "./pull-request-store.ts";
import { Repositories } from "./repositories.ts";
import type { PullRequests } from "./pull-requests.ts";
import { Tokens, type TokenOptions } from "./tokens.ts";
import { type WebhookDelivery, Webhooks } from "./webhooks.ts";

export { CodeHostError } from "./errors.ts";
export type { HostEvent } from "./events.ts";
export type { CodeHostFault, Traffic } from "./faults.ts";
export type { PullRequest } from "./pull-request-store.ts";
export type { TokenOptions } from "./tokens.ts";
export type { WebhookDelivery } from "./webhooks.ts";

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
  tokens: readonly TokenOptions[];
  /** The login of whoever presses a button on the pages. @default "reviewer" */
  visitor?: string;
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
  /** GitHub Apps, and the tokens that they were given. */
  readonly apps: Apps;
  /** Calls of the API since the start or the last `resetCalls`, by what they cost. */
  readonly calls: Calls;
  /** Counts calls from zero again, also against the limits. */
  resetCalls(): void;
  /** Tokens may come and go. */
  readonly tokens: Pick<Tokens, "add" | "remove">;
  /** Every try to tell the webhook's address something, oldest first. */
  readonly deliveries: readonly WebhookDelivery[];
  /** Sends a delivery once more, as people can by hand; it says so in no way but by its id. */
  redeliver(id: string): Promise<void>;
  /** Tells of everything that happens from now on. Returns what ends that. */
  onEvent(listener: (event: HostEvent) => void): () => void;
  /** A repository, to do directly what others do by the API. Throws where there is none. */
  repository(owner: string, repo: string): PullRequests;
  /** Sets a commit's check run, as the checks of a real host would. */
  setCheck(
    owner: string,
    repo: string,
    check: { sha: string; name: string; result: CheckResult; summary?: string | null },
  ): Promise<void>;
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
  /** Makes a fork of a repository for another owner, with the same name. */
  fork(owner: string, repo: string, by: string): Promise<void>;
  /** Stops listening and ends open connections. */
  close(): Promise<void>;
};

const SILENT: Log = { info: () => {}, error: () => {} };

/**
 * A small local stand-in for GitHub: git over HTTP, part of its REST API, and pages for pull
 * requests.
 */
export async function createCodeHost(options: CodeHostOptions): Promise<CodeHost> {
  const { dataDir, port = 0, host: address = "127.0.0.1", logger: log = SILENT } = options;
  const now = options.now ?? (() => new Date());
  await mkdir(dataDir, { recursive: true });
  const git = new Git(dataDir, options.searchPath);
  // A git that is missing or too old is reported now, not at the first push.
  await git.httpBackend();
  let url = "";
  const tokens = new Tokens(options.tokens);
  const host = new Host({
    visitor: options.visitor ?? "reviewer",
    repositories: new Repositories(dataDir, git),
    tokens,
    dataDir,
    links: () => ({ url, apiUrl: `${url}/api/v3`, home: options.home?.() ?? null }),
    now,
  });
  await host.open();
  const limits = new CallLimits(host);
  const apps = new Apps(host);
  const webhooks = new Webhooks(host);
  host.onEvent((event) => webhooks.deliver(event));
  const { traffic, listener } = serveWithFaults(createCodeHostApp({ host, apps, git, log, limits }));
  const server = createServer(listener);
  const bound = await listenOnLoopback(server, port, address);
  url = `http://${address.includes(":") ? `[${address}]` : address}:${bound}`;
  log.info({ url }, "code host listens");

  const close = async () => {
    await webhooks.close();
    await closeNow(server);
  };
  const repositoryOf = (owner: string, repo: string) => {
    const found = host.find(owner, repo);
    if (found === undefined) throw new CodeHostError(`There is no repository ${owner}/${repo}`);
    return found;
  };

  return {
    url,
    apiUrl: host.links().apiUrl,
    traffic,
    rules: host.rules,
    apps,
    get calls() {
      return limits.calls;
    },
    resetCalls: () => limits.reset(),
    tokens,
    deliveries: webhooks.deliveries,
    redeliver: (id) => webhooks.redeliver(id),
    onEvent: (listener) => host.onEvent(listener),
    repository: repositoryOf,
    async setCheck(owner, repo, check) {
      await setCheck(host, repositoryOf(owner, repo), check, "checks");
    },
    gitUrl: (owner, repo) => `${url}/${owner}/${repo}.git`,
    pullRequests: (owner, repo) => host.find(owner, repo)?.all() ?? [],
    createRepository: (owner, repo, fromDirectory) => host.create(owner, repo, fromDirectory),
    fork: (owner, repo, by) => host.fork(repositoryOf(owner, repo), by),
    close,
    [Symbol.asyncDispose]: close,
  };
}
