import type { PullRequest, PullRequestStore } from "./pull-request-store.ts";
import { isBranchName } from "./names.ts";
import type { Repository } from "./repository.ts";

/** Why something asked of a pull request is not done. */
export type PullRequestRefusal =
  | { kind: "invalid-field"; field: "head" | "base" }
  | { kind: "no-commits"; base: string; head: string }
  | { kind: "exists"; head: string }
  | { kind: "not-open" }
  | { kind: "cannot-reopen"; why: string }
  | { kind: "head-moved" }
  | { kind: "conflict"; paths: string[] };

export type Result<Value> = { ok: true; value: Value } | { ok: false; refusal: PullRequestRefusal };

export type NewPullRequest = {
  title: string;
  body: string | null;
  head: string;
  base: string;
  isDraft: boolean;
};
export type Change = {
  title?: string | undefined;
  body?: string | null | undefined;
  state?: PullRequest["state"] | undefined;
  isDraft?: boolean;
  labels?: string[];
  assignees?: string[];
  reviewers?: string[];
};
export type MergeOrder = {
  method: "merge" | "squash";
  title?: string | undefined;
  message?: string | undefined;
  /** The head that the caller has seen; another one is not merged. */
  sha?: string | undefined;
};

/**
 * The commits that a pull request is about: what would be merged into what, and what is shown as
 * its change.
 */
export type Commits = { head: string; base: string; mergeBase: string };

/** Who opens pull requests here: whoever holds a token. */
const AUTHOR = "docs-agent";

/** The pull requests of one repository. Everything that changes them runs one at a time. */
export class PullRequests {
  readonly repository: Repository;
  readonly #store: PullRequestStore;
  readonly #now: () => Date;
  #last: Promise<unknown> = Promise.resolve();

  constructor(repository: Repository, store: PullRequestStore, now: () => Date) {
    this.repository = repository;
    this.#store = store;
    this.#now = now;
  }

  all(): readonly PullRequest[] {
    return this.#store.all();
  }

  find(number: number): PullRequest | undefined {
    return this.#store.all().find((pullRequest) => pullRequest.number === number);
  }

  /**
   * Its commits now, or as they were when it was closed. `null` when a branch is gone from under
   * it.
   */
  async commits(pullRequest: PullRequest): Promise<Commits | null> {
    const { repository } = this;
    const current = pullRequest.state === "open" ? await repository.branchSha(pullRequest.head) : null;
    const head = current ?? (await repository.refSha(`refs/pull/${pullRequest.number}/head`));
    const base = pullRequest.baseSha ?? (await repository.branchSha(pullRequest.base));
    if (head === null || base === null) return null;
    const mergeBase = await repository.mergeBase(base, head);
    return mergeBase === null ? null : { head, base, mergeBase };
  }

  /** The paths that stand against a merge; empty when nothing does. */
  async conflicts({ base, head }: Commits): Promise<string[]> {
    const merged = await this.repository.mergeTree(base, head);
    if ("tree" in merged) return [];
    return merged.conflicts.length > 0 ? merged.conflicts : ["(the whole history)"];
  }

  async create(wanted: NewPullRequest): Promise<Result<PullRequest>> {
    return this.#alone(async () => {
      const { repository } = this;
      const base = await repository.branchSha(wanted.base);
      if (base === null) return refuse({ kind: "invalid-field", field: "base" });
      const head = await repository.branchSha(wanted.head);
      if (head === null) return refuse({ kind: "invalid-field", field: "head" });
      if (this.#openOn(wanted)) return refuse({ kind: "exists", head: wanted.head });
      const mergeBase = await repository.mergeBase(base, head);
      if (mergeBase === null || mergeBase === head) {
        return refuse({ kind: "no-commits", base: wanted.base, head: wanted.head });
      }
      const now = this.#time();
      const pullRequest: PullRequest = {
        ...wanted,
        number: Math.max(0, ...this.all().map(({ number }) => number)) + 1,
        author: AUTHOR,
        state: "open",
        labels: [],
        assignees: [],
        reviewers: [],
        createdAt: now,
        updatedAt: now,
        closedAt: null,
        mergedAt: null,
        mergeCommitSha: null,
        baseSha: null,
        mergeBaseSha: mergeBase,
      };
      await this.#pin(pullRequest.number, head);
      await this.#store.save(pullRequest);
      return { ok: true, value: pullRequest };
    });
  }

  async change(number: number, { title, body, state, ...others }: Change): Promise<Result<PullRequest>> {
    return this.#alone(async () => {
      const pullRequest = this.#mustFind(number);
      const changed: PullRequest = {
        ...pullRequest,
        ...others,
        title: title ?? pullRequest.title,
        body: body === undefined ? pullRequest.body : body,
        updatedAt: this.#time(),
      };
      if (state === "closed" && pullRequest.state === "open") {
        Object.assign(changed, await this.#closed(pullRequest));
      }
      if (state === "open" && pullRequest.state === "closed") {
        const why = await this.#whyNotReopened(pullRequest);
        if (why !== null) return refuse({ kind: "cannot-reopen", why });
        Object.assign(changed, { state, closedAt: null, baseSha: null });
      }
      await this.#store.save(changed);
      return { ok: true, value: changed };
    });
  }

  /**
   * Merges with git in the repository itself; resolves to the commit that the base branch is at
   * then.
   */
  async merge(number: number, order: MergeOrder): Promise<Result<string>> {
    return this.#alone(async () => {
      const { repository } = this;
      const pullRequest = this.#mustFind(number);
      const commits = await this.commits(pullRequest);
      if (pullRequest.state !== "open" || commits === null) return refuse({ kind: "not-open" });
      const { head, base } = commits;
      if (order.sha !== undefined && order.sha !== head) return refuse({ kind: "head-moved" });
      const merged = await repository.mergeTree(base, head);
      if (!("tree" in merged)) return refuse({ kind: "conflict", paths: await this.conflicts(commits) });
      const parents = order.method === "merge" ? [base, head] : [base];
      const sha = await repository.commitTree(
        merged.tree,
        parents,
        messageOf(pullRequest, repository, order),
      );
      // Whoever pushed to the base branch meanwhile wins; the merge was tried on what it was
      // before.
      if (!(await repository.moveRef(`refs/heads/${pullRequest.base}`, sha, base))) {
        return refuse({ kind: "head-moved" });
      }
      await this.#pin(number, head);
      await this.#store.save({
        ...pullRequest,
        ...(await this.#closed(pullRequest, base)),
        mergedAt: this.#time(),
        mergeCommitSha: sha,
      });
      return { ok: true, value: sha };
    });
  }

  /**
   * Takes in what a push changed: new heads are pinned, a pull request whose branch is gone is
   * closed, and one whose commits have arrived in its base is merged. Doing it again changes
   * nothing.
   */
  async followBranches(): Promise<void> {
    await this.#alone(async () => {
      for (const pullRequest of this.all().filter(({ state }) => state === "open")) {
        await this.#follow(pullRequest);
      }
    });
  }

  async #follow(pullRequest: PullRequest): Promise<void> {
    const { repository } = this;
    const { number } = pullRequest;
    const pinned = await repository.refSha(`refs/pull/${number}/head`);
    const head = await repository.branchSha(pullRequest.head);
    if (head === null) {
      await this.#store.save({ ...pullRequest, ...(await this.#closed(pullRequest)) });
      return;
    }
    const commits = await this.commits(pullRequest);
    if (commits !== null && commits.mergeBase === head) {
      const merge = commits.base;
      await this.#store.save({
        ...pullRequest,
        // The base as it is now already has the change.
        ...(await this.#closed(pullRequest, pullRequest.mergeBaseSha)),
        mergedAt: this.#time(),
        mergeCommitSha: merge,
      });
      return;
    }
    if (pinned === head) return;
    await this.#pin(number, head);
    const mergeBaseSha = commits?.mergeBase ?? pullRequest.mergeBaseSha;
    await this.#store.save({ ...pullRequest, mergeBaseSha, updatedAt: this.#time() });
  }

  async #closed(pullRequest: PullRequest, base?: string): Promise<Partial<PullRequest>> {
    const now = this.#time();
    const baseSha = base ?? (await this.repository.branchSha(pullRequest.base));
    return { state: "closed", closedAt: now, updatedAt: now, baseSha };
  }

  async #whyNotReopened(pullRequest: PullRequest): Promise<string | null> {
    if (pullRequest.mergedAt !== null) return "The pull request was merged.";
    if ((await this.repository.branchSha(pullRequest.head)) === null) {
      return `The ${pullRequest.head} branch was deleted.`;
    }
    if (!this.#openOn(pullRequest)) return null;
    return `There is already an open pull request from ${pullRequest.head} to ${pullRequest.base}.`;
  }

  #openOn({ head, base }: Pick<PullRequest, "head" | "base">): boolean {
    return this.all().some((other) => other.state === "open" && other.head === head && other.base === base);
  }

  /** Keeps the commits of a pull request, whatever happens to its branch. */
  async #pin(number: number, head: string): Promise<void> {
    const ref = `refs/pull/${number}/head` as const;
    await this.repository.moveRef(ref, head, await this.repository.refSha(ref));
  }

  #mustFind(number: number): PullRequest {
    const pullRequest = this.find(number);
    if (!pullRequest) throw new RangeError(`There is no pull request ${number}; look with find() first`);
    return pullRequest;
  }

  async #alone<Value>(work: () => Promise<Value>): Promise<Value> {
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => {});
    return mine;
  }

  #time(): string {
    return `${this.#now().toISOString().slice(0, 19)}Z`;
  }
}

/**
 * A head as the API takes it, `branch` or `owner:branch`; `null` when it is another owner's or no
 * branch name.
 */
export function headBranch(head: string, owner: string): string | null {
  const colon = head.indexOf(":");
  if (colon >= 0 && head.slice(0, colon).toLowerCase() !== owner.toLowerCase()) return null;
  const branch = head.slice(colon + 1);
  return isBranchName(branch) ? branch : null;
}

function messageOf(pullRequest: PullRequest, repository: Repository, order: MergeOrder): string {
  const { number, title, head } = pullRequest;
  const isSquash = order.method === "squash";
  const subject = isSquash
    ? `${title} (#${number})`
    : `Merge pull request #${number} from ${repository.owner}/${head}`;
  const text = order.message ?? (isSquash ? "" : title);
  return `${order.title ?? subject}\n\n${text}`.trimEnd().concat("\n");
}

function refuse(refusal: PullRequestRefusal): { ok: false; refusal: PullRequestRefusal } {
  return { ok: false, refusal };
}
