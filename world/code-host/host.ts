import { setImmediate } from "node:timers/promises";
import type { HostEvent } from "./events.ts";
import { PullRequestStore } from "./pull-request-store.ts";
import { PullRequests } from "./pull-requests.ts";
import { CommitRecords } from "./commit-records.ts";
import type { Role } from "./permissions.ts";
import type { Repositories } from "./repositories.ts";
import type { Tokens } from "./tokens.ts";

export type WayBack = { label: string; href: string };

/** The addresses that links lead to. */
type Links = { url: string; apiUrl: string; home: WayBack | null };

/** The differences between code hosts, repositories and plans. They may be changed at any time. */
export type Rules = {
  /** Full names. Nobody sees these repositories without a token. */
  readonly privateRepositories: Set<string>;
  /** False if the plan has no drafts. */
  hasDrafts: boolean;
  /**
   * The people, and teams as `owner/team`, who can be assigned and asked for a review. Null means
   * anybody.
   */
  collaborators: Set<string> | null;
  /**
   * The roles of people by their login. They count more than `collaborators`. A person with "none"
   * isn't a collaborator.
   */
  readonly roles: Map<string, Role>;
  /** Logins that have no account. */
  readonly goneAccounts: Set<string>;
  /**
   * Full names. The API answers 404 for these repositories, as for those that a token may not see.
   */
  readonly hiddenRepositories: Set<string>;
  /** The new full names of renamed repositories. GraphQL's addresses of pull requests have them. */
  readonly renamed: Map<string, string>;
  /** The full name of each fork, and that of the repository it was made from. */
  readonly forks: Map<string, string>;
  /** If false, its address answers 404, as on hosts that only have the REST API. */
  hasGraphql: boolean;
  /** If false, tokens lack `read:org`, so GraphQL refuses documents that name a team's fields. */
  readsTeams: boolean;
  /**
   * The number of calls that a token may make in an hour. GraphQL has the same number of points.
   * Answers of 304 are free.
   */
  callsPerHour: number;
  /** The address to which events are sent, and the secret that signs them. */
  webhook: { url: string; secret: string } | null;
};

/**
 * The common ground of all routes: the repositories with their pull requests, the tokens, and the
 * addresses for links.
 */
export class Host {
  readonly tokens: Tokens;
  readonly links: () => Links;
  readonly rules: Rules = {
    privateRepositories: new Set(),
    hiddenRepositories: new Set(),
    renamed: new Map(),
    forks: new Map(),
    hasDrafts: true,
    collaborators: null,
    roles: new Map(),
    goneAccounts: new Set(),
    hasGraphql: true,
    readsTeams: true,
    callsPerHour: 5000,
    webhook: null,
  };
  /** The login of the person who presses a button on the pages. */
  readonly visitor: string;
  readonly #repositories: Repositories;
  readonly #dataDir: string;
  readonly #now: () => Date;
  readonly #pullRequests = new Map<string, PullRequests>();
  readonly #running = new Set<Promise<void>>();
  readonly #listeners = new Set<(event: HostEvent) => void>();

  constructor(options: {
    visitor: string;
    repositories: Repositories;
    tokens: Tokens;
    dataDir: string;
    links: () => Links;
    now: () => Date;
  }) {
    this.tokens = options.tokens;
    this.links = options.links;
    this.visitor = options.visitor;
    this.#repositories = options.repositories;
    this.#dataDir = options.dataDir;
    this.#now = options.now;
  }

  /** Reads the stored data and takes in what was pushed just before the last end. */
  async open(): Promise<void> {
    await this.#repositories.open();
    for (const { fullName } of this.#repositories.all()) await this.#load(fullName);
  }

  find(owner: string, name: string): PullRequests | undefined {
    const repository = this.#repositories.find(owner, name);
    return repository && this.#pullRequests.get(repository.fullName);
  }

  all(): Iterable<PullRequests> {
    return this.#pullRequests.values();
  }

  /** Calls `listener` for every event from now on. The returned function ends that. */
  onEvent(listener: (event: HostEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(event: HostEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  /** Does something after the present request is answered. A failure isn't reported. */
  later(work: () => Promise<void>): void {
    const running = setImmediate()
      .then(work)
      .catch(() => {})
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves when all of that is done. */
  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }

  now(): Date {
    return this.#now();
  }

  /** See `Repositories.create`. */
  async create(owner: string, name: string, fromDirectory: string): Promise<boolean> {
    const isNew = await this.#repositories.create(owner, name, fromDirectory);
    if (isNew) await this.#load(`${owner}/${name}`);
    return isNew;
  }

  /** See `Repositories.fork`. */
  async fork(from: PullRequests, owner: string): Promise<void> {
    const { name, fullName } = from.repository;
    await this.#repositories.fork(from.repository, owner);
    this.rules.forks.set(`${owner}/${name}`, fullName);
    await this.#load(`${owner}/${name}`);
  }

  /** Takes in a push to a repository, and to the repository that it is a fork of. */
  async followPush(pushed: PullRequests): Promise<void> {
    await pushed.followBranches();
    const [owner = "", name = ""] = this.rules.forks.get(pushed.repository.fullName)?.split("/") ?? [];
    const parent = this.find(owner, name);
    if (parent === undefined) return;
    await parent.repository.takeFork(pushed.repository);
    await parent.followBranches();
  }

  async #load(fullName: string): Promise<void> {
    const [owner = "", name = ""] = fullName.split("/");
    const repository = this.#repositories.find(owner, name);
    if (!repository) return;
    const store = new PullRequestStore(this.#dataDir, fullName);
    await store.load();
    const records = new CommitRecords(this.#dataDir, fullName);
    await records.load();
    const tell = (event: HostEvent): void => this.tell(event);
    const pullRequests = new PullRequests({ repository, records, store, now: this.#now, tell });
    await pullRequests.followBranches();
    this.#pullRequests.set(fullName, pullRequests);
  }
}
