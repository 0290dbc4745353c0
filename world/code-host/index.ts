import { mkdir } from "node:fs/promises";
import { createServer } from "node:http";
import { closeNow, listenOnLoopback } from "../loopback-server.ts";
import { type Calls, CallLimits } from "./api/call-limits.ts";
import { Apps } from "./apps.ts";
import { createCodeHostApp, type Log } from "./app.ts";
import { type CheckReport, setCheck } from "./checks.ts";
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
export { markdownHtml } from "./pages/markdown.ts";
export type { HostEvent } from "./events.ts";
export type { CodeHostFault, Traffic } from "./faults.ts";
export { REFUSAL_NAMES, type RefusalName, refusing } from "./known-refusals.ts";
export type { PullRequest } from "./pull-request-store.ts";
export type { TokenOptions } from "./tokens.ts";
export type { WebhookDelivery } from "./webhooks.ts";

export type CodeHostOptions = {
  /** The folder for repositories and pull requests. Only one code host at a time may use it. */
  dataDir: string;
  /** The port. 0 is any free one. @default 0 */
  port?: number;
  /** The address to listen on. @default "127.0.0.1" */
  host?: string;
  /**
   * The tokens with which people may push, and may open, change and merge pull requests. Everybody
   * may read.
   */
  tokens: readonly TokenOptions[];
  /** The login of the person who presses a button on the pages. @default "reviewer" */
  visitor?: string;
  logger?: Log;
  /** The `PATH` in which to look for git. @default the system's own */
  searchPath?: string | undefined;
  now?: () => Date;
  /** The place that people came from. The page of every repository and pull request links to it. */
  home?: () => WayBack;
};

export type CodeHost = AsyncDisposable & {
  /** The address of its pages, without a slash at the end. */
  readonly url: string;
  /** The root of its REST API, which is Octokit's `baseUrl`. */
  readonly apiUrl: string;
  /** The requests that came in, and a way to disturb them. */
  readonly traffic: Traffic;
  readonly rules: Rules;
  /** GitHub Apps, and the tokens that they were given. */
  readonly apps: Apps;
  /** The calls of the API since the start or the last `resetCalls`, by what they cost. */
  readonly calls: Calls;
  /** Counts calls from zero again, for the limits, too. */
  resetCalls(): void;
  /** The tokens. They can be added and removed. */
  readonly tokens: Pick<Tokens, "add" | "remove">;
  /** Every attempt to send something to the webhook's address, oldest first. */
  readonly deliveries: readonly WebhookDelivery[];
  /**
   * Sends a delivery again, like GitHub's *Redeliver* button. Only its id shows that it is a
   * repeat.
   */
  redeliver(id: string): Promise<void>;
  /** Calls `listener` for every event from now on. The returned function ends that. */
  onEvent(listener: (event: HostEvent) => void): () => void;
  /**
   * Returns a repository, so that a test can do directly what others do through the API. Throws if
   * there is none.
   */
  repository(owner: string, repo: string): PullRequests;
  /** Sets a commit's check run, as the checks of a real host would. */
  setCheck(owner: string, repo: string, check: CheckReport): Promise<void>;
  gitUrl(owner: string, repo: string): string;
  /**
   * Returns the pull requests of a repository in the order of their numbers. Empty if there is no
   * such repository.
   */
  pullRequests(owner: string, repo: string): readonly PullRequest[];
  /**
   * Makes a repository whose only commit, on `main`, has the files of a folder. One that exists
   * isn't changed. Resolves to true if it was made. Rejects with `CodeHostError` if the name isn't
   * allowed.
   */
  createRepository(owner: string, repo: string, fromDirectory: string): Promise<boolean>;
  /** Makes a fork of a repository for another owner, with the same name. */
  fork(owner: string, repo: string, by: string): Promise<void>;
  /** Stops listening and ends open connections. */
  close(): Promise<void>;
};

const SILENT: Log = { info: () => {}, error: () => {} };

/**
 * Starts a small local stand-in for GitHub: git over HTTP, a part of its REST API, and pages for
 * pull requests.
 */
export async function createCodeHost(options: CodeHostOptions): Promise<CodeHost> {
  const { dataDir, port = 0, host: address = "127.0.0.1", logger: log = SILENT } = options;
  const now = options.now ?? (() => new Date());
  await mkdir(dataDir, { recursive: true });
  const git = new Git(dataDir, options.searchPath);
  // A git that is missing or too old is reported now and not at the first push.
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
    await host.settled();
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
