import { PullRequestStore } from "./pull-request-store.ts";
import { PullRequests } from "./pull-requests.ts";
import type { Repositories } from "./repositories.ts";
import type { Tokens } from "./tokens.ts";

export type WayBack = { label: string; href: string };

/** Where links lead. */
type Links = { url: string; apiUrl: string; home: WayBack | null };

/** What differs from one code host, repository or plan to the next. May be changed at any time. */
export type Rules = {
  /** Full names. Nobody sees them without a token. */
  readonly privateRepositories: Set<string>;
  /** Not every plan has them. */
  hasDrafts: boolean;
  /** Who can be assigned and asked for a review, teams as `owner/team`; null: anybody. */
  collaborators: Set<string> | null;
};

/**
 * What every route works on: the repositories with their pull requests, who may write, and where
 * links lead.
 */
export class Host {
  readonly tokens: Tokens;
  readonly links: () => Links;
  readonly rules: Rules = { privateRepositories: new Set(), hasDrafts: true, collaborators: null };
  readonly #repositories: Repositories;
  readonly #dataDir: string;
  readonly #now: () => Date;
  readonly #pullRequests = new Map<string, PullRequests>();

  constructor(options: {
    repositories: Repositories;
    tokens: Tokens;
    dataDir: string;
    links: () => Links;
    now: () => Date;
  }) {
    this.tokens = options.tokens;
    this.links = options.links;
    this.#repositories = options.repositories;
    this.#dataDir = options.dataDir;
    this.#now = options.now;
  }

  /** Reads what is stored, and takes in what was pushed just before the last end. */
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

  /** See `Repositories.create`. */
  async create(owner: string, name: string, fromDirectory: string): Promise<boolean> {
    const isNew = await this.#repositories.create(owner, name, fromDirectory);
    if (isNew) await this.#load(`${owner}/${name}`);
    return isNew;
  }

  async #load(fullName: string): Promise<void> {
    const [owner = "", name = ""] = fullName.split("/");
    const repository = this.#repositories.find(owner, name);
    if (!repository) return;
    const store = new PullRequestStore(this.#dataDir, fullName);
    await store.load();
    const pullRequests = new PullRequests(repository, store, this.#now);
    await pullRequests.followBranches();
    this.#pullRequests.set(fullName, pullRequests);
  }
}
