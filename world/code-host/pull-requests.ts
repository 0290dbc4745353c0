import type { HostEvent, PullRequestAction } from "./events.ts";
import type { LineComment } from "./line-comment.ts";
import { type NewLineComment, placesOf } from "./line-places.ts";
import { type Check, checksOf, type MergeState, mergeStateOf, rulesAgainst } from "./merge-state.ts";
import { isBranchName } from "./names.ts";
import type { Comment, PullRequest, PullRequestStore, GivenReview } from "./pull-request-store.ts";
import type { CommitRecords } from "./commit-records.ts";
import type { Repository } from "./repository.ts";
import { AUTHOR } from "./tokens.ts";

/** The reason why something isn't done with a pull request. */
export type PullRequestRefusal =
  | { kind: "invalid-field"; field: "head" | "base" }
  | { kind: "no-commits"; base: string; head: string }
  | { kind: "exists"; head: string }
  | { kind: "not-open" }
  | { kind: "cannot-reopen"; why: string }
  | { kind: "head-moved" }
  | { kind: "conflict"; paths: string[] }
  | { kind: "rules"; why: string[] }
  | { kind: "own-pull-request" }
  | { kind: "no-words" }
  | { kind: "no-such-line"; what: "path" | "line" | "commit_id" };

export type Result<Value> = { ok: true; value: Value } | { ok: false; refusal: PullRequestRefusal };

export type NewPullRequest = {
  title: string;
  body: string | null;
  head: string;
  fork?: string | null;
  base: string;
  isDraft: boolean;
  author?: string;
};
export type Change = {
  title?: string | undefined;
  body?: string | null | undefined;
  state?: PullRequest["state"] | undefined;
  base?: string | undefined;
  isDraft?: boolean;
  labels?: string[];
  assignees?: string[];
  reviewers?: string[];
};
export type MergeOrder = {
  method: "merge" | "squash" | "rebase";
  title?: string | undefined;
  message?: string | undefined;
  /** The head that the caller has seen. Another one isn't merged. */
  sha?: string | undefined;
  by?: string;
};
export type Opinion = {
  author: string;
  state: Exclude<GivenReview["state"], "DISMISSED">;
  body: string;
  comments?: readonly NewLineComment[];
  /** The commit that was reviewed. By default, it is the head. */
  commit?: string | undefined;
};

/**
 * The commits of a pull request: the head and the base of a merge, and the commit from which its
 * change is shown.
 */
export type Commits = { head: string; base: string; mergeBase: string };

/** The pull requests of one repository. Their changes run one after the other. */
export class PullRequests {
  readonly repository: Repository;
  readonly records: CommitRecords;
  readonly #store: PullRequestStore;
  readonly #now: () => Date;
  readonly #tell: (event: HostEvent) => void;
  /** The commits for which somebody asked whether they can be merged. */
  readonly #asked = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: {
    repository: Repository;
    records: CommitRecords;
    store: PullRequestStore;
    now: () => Date;
    tell: (event: HostEvent) => void;
  }) {
    this.repository = parts.repository;
    this.records = parts.records;
    this.#store = parts.store;
    this.#now = parts.now;
    this.#tell = parts.tell;
  }

  all(): readonly PullRequest[] {
    return this.#store.all();
  }

  find(number: number): PullRequest | undefined {
    return this.#store.all().find((pullRequest) => pullRequest.number === number);
  }

  /**
   * Resolves to its present commits, or those of the time when it was closed. Null if one of its
   * branches is gone.
   */
  async commits(pullRequest: PullRequest): Promise<Commits | null> {
    const { repository } = this;
    const current = pullRequest.state === "open" ? await repository.headSha(pullRequest) : null;
    const head = current ?? (await repository.refSha(`refs/pull/${pullRequest.number}/head`));
    const base = pullRequest.baseSha ?? (await repository.branchSha(pullRequest.base));
    if (head === null || base === null) return null;
    const mergeBase = await repository.mergeBase(base, head);
    return mergeBase === null ? null : { head, base, mergeBase };
  }

  /** Resolves to the paths that prevent a merge. Empty if there are none. */
  async conflicts({ base, head }: Commits): Promise<string[]> {
    const merged = await this.repository.mergeTree(base, head);
    if ("tree" in merged) return [];
    return merged.conflicts.length > 0 ? merged.conflicts : ["(the whole history)"];
  }

  checks({ base }: PullRequest, head: string): Check[] {
    return checksOf(this.records, head, this.records.protection(base));
  }

  /**
   * Resolves to whether it can be merged. GitHub finds out in the background once somebody asks, so
   * the first answer for a head and a base is "not known yet" (docs.github.com/rest/pulls/pulls,
   * "Get a pull request").
   */
  async mergeability(pullRequest: PullRequest): Promise<{ mergeable: boolean | null; state: MergeState }> {
    const commits = pullRequest.state === "open" ? await this.commits(pullRequest) : null;
    if (commits === null) return { mergeable: null, state: "unknown" };
    const { head, base, mergeBase } = commits;
    const isKnown = this.#asked.has(`${base} ${head}`);
    this.#asked.add(`${base} ${head}`);
    const hasConflicts = isKnown ? (await this.conflicts(commits)).length > 0 : null;
    return {
      mergeable: hasConflicts === null ? null : !hasConflicts,
      state: mergeStateOf({
        pullRequest,
        protection: this.records.protection(pullRequest.base),
        checks: this.checks(pullRequest, head),
        hasConflicts,
        isBehind: mergeBase !== base,
      }),
    };
  }

  /**
   * Returns the present reasons of the base branch's rules against a merge. Empty if there are
   * none.
   */
  rulesAgainst(pullRequest: PullRequest, { head, base, mergeBase }: Commits): string[] {
    const protection = this.records.protection(pullRequest.base);
    const isBehind = protection?.isStrict === true && mergeBase !== base;
    return [
      ...rulesAgainst(pullRequest, protection, this.checks(pullRequest, head)),
      ...(isBehind ? ["Head branch is out of date."] : []),
    ];
  }

  async create(wanted: NewPullRequest): Promise<Result<PullRequest>> {
    return this.#alone(async () => {
      const { repository } = this;
      const base = await repository.branchSha(wanted.base);
      if (base === null) return refuse({ kind: "invalid-field", field: "base" });
      const fork = wanted.fork ?? null;
      const head = await repository.headSha({ ...wanted, fork });
      if (head === null) return refuse({ kind: "invalid-field", field: "head" });
      if (this.#openOn({ ...wanted, fork })) return refuse({ kind: "exists", head: wanted.head });
      const mergeBase = await repository.mergeBase(base, head);
      if (mergeBase === null || mergeBase === head) {
        return refuse({ kind: "no-commits", base: wanted.base, head: wanted.head });
      }
      const now = this.#time();
      const pullRequest: PullRequest = {
        ...wanted,
        fork,
        number: Math.max(0, ...this.all().map(({ number }) => number)) + 1,
        author: wanted.author ?? AUTHOR,
        state: "open",
        labels: [],
        assignees: [],
        reviewers: [],
        reviews: [],
        comments: [],
        lineComments: [],
        createdAt: now,
        updatedAt: now,
        closedAt: null,
        mergedAt: null,
        mergedBy: null,
        mergeCommitSha: null,
        baseSha: null,
        mergeBaseSha: mergeBase,
      };
      await this.#pin(pullRequest.number, head);
      await this.#save(pullRequest, "opened", pullRequest.author);
      return { ok: true, value: pullRequest };
    });
  }

  async change(number: number, change: Change, by = AUTHOR): Promise<Result<PullRequest>> {
    const { title, body, state, base, ...others } = change;
    return this.#alone(async () => {
      const pullRequest = this.#mustFind(number);
      if (base !== undefined && base !== pullRequest.base) {
        const refusal = await this.#whyNotInto(base, pullRequest);
        if (refusal !== null) return refuse(refusal);
      }
      const changed: PullRequest = {
        ...pullRequest,
        ...others,
        title: title ?? pullRequest.title,
        base: base ?? pullRequest.base,
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
      await this.#save(changed, actionOf(pullRequest, changed), by);
      return { ok: true, value: changed };
    });
  }

  /**
   * Adds a review. As on GitHub, people can't approve their own, and those who ask for changes have
   * to say which.
   */
  async review(
    number: number,
    { author, state, body, comments = [], commit }: Opinion,
  ): Promise<Result<GivenReview>> {
    return this.#alone(async () => {
      const pullRequest = this.#mustFind(number);
      if (state !== "COMMENTED" && author === pullRequest.author) return refuse({ kind: "own-pull-request" });
      if (state !== "APPROVED" && body.trim() === "" && comments.length === 0) {
        return refuse({ kind: "no-words" });
      }
      const commits = await this.commits(pullRequest);
      if (commits !== null && commit !== undefined && !(await this.#isOf(commits, commit))) {
        return refuse({ kind: "no-such-line", what: "commit_id" });
      }
      const seen = { head: commit ?? commits?.head ?? "", mergeBase: commits?.mergeBase ?? "" };
      const found = await placesOf(this.repository, seen, comments);
      if ("missing" in found) return refuse({ kind: "no-such-line", what: found.missing });
      const review: GivenReview = {
        id: number * 10_000 + pullRequest.reviews.length + 1,
        author,
        state,
        body,
        commitSha: seen.head,
        submittedAt: this.#time(),
      };
      const made = found.places.map((place, index): LineComment => ({
        ...place,
        id: lineCommentId(pullRequest, index),
        reviewId: review.id,
        inReplyTo: null,
        author,
        createdAt: review.submittedAt,
        resolvedBy: null,
      }));
      const changed: PullRequest = {
        ...pullRequest,
        reviews: [...pullRequest.reviews, review],
        lineComments: [...pullRequest.lineComments, ...made],
        // A person who gave a review isn't waited for anymore.
        reviewers: pullRequest.reviewers.filter((name) => name !== author),
        updatedAt: this.#time(),
      };
      await this.#store.save(changed);
      this.#tellOf({ kind: "review", action: "submitted", pullRequest: changed, review, sender: author });
      for (const comment of made) {
        this.#tellOf({ kind: "line-comment", pullRequest: changed, comment, sender: author });
      }
      return { ok: true, value: review };
    });
  }

  /**
   * Answers the first comment of a thread with a review of its own, as on GitHub. Undefined if
   * there is no such thread.
   */
  async reply(number: number, id: number, author: string, body: string): Promise<LineComment | undefined> {
    return this.#alone(async () => {
      const pullRequest = this.#mustFind(number);
      const { lineComments, reviews } = pullRequest;
      const first = lineComments.find((known) => known.id === id && known.inReplyTo === null);
      if (first === undefined) return undefined;
      const now = this.#time();
      const commits = await this.commits(pullRequest);
      const review: GivenReview = {
        id: number * 10_000 + reviews.length + 1,
        author,
        state: "COMMENTED",
        body: "",
        commitSha: commits?.head ?? first.commitSha,
        submittedAt: now,
      };
      const comment: LineComment = {
        ...first,
        id: lineCommentId(pullRequest),
        reviewId: review.id,
        inReplyTo: id,
        author,
        body,
        createdAt: now,
        resolvedBy: null,
      };
      const changed: PullRequest = {
        ...pullRequest,
        reviews: [...reviews, review],
        lineComments: [...lineComments, comment],
        reviewers: pullRequest.reviewers.filter((name) => name !== author),
        updatedAt: now,
      };
      await this.#store.save(changed);
      this.#tellOf({ kind: "review", action: "submitted", pullRequest: changed, review, sender: author });
      this.#tellOf({ kind: "line-comment", pullRequest: changed, comment, sender: author });
      return comment;
    });
  }

  /**
   * Sets the person who resolved a thread, which its first comment identifies. Null opens the
   * thread again.
   */
  async resolve(number: number, id: number, by: string | null): Promise<void> {
    await this.#alone(async () => {
      const pullRequest = this.#mustFind(number);
      const lineComments = pullRequest.lineComments.map((known) =>
        known.id === id ? { ...known, resolvedBy: by } : known,
      );
      await this.#store.save({ ...pullRequest, lineComments });
    });
  }

  async #isOf({ head, mergeBase }: Commits, commit: string): Promise<boolean> {
    const own = await this.repository.commitsBetween(mergeBase, head);
    return own.some(({ sha }) => sha === commit);
  }

  /** Takes a review back. Undefined if there is no such review. */
  async dismiss(number: number, id: number, by: string): Promise<GivenReview | undefined> {
    return this.#alone(async () => {
      const pullRequest = this.#mustFind(number);
      const review = pullRequest.reviews.find((known) => known.id === id);
      if (review === undefined) return undefined;
      const dismissed: GivenReview = { ...review, state: "DISMISSED" };
      const reviews = pullRequest.reviews.map((known) => (known.id === id ? dismissed : known));
      const changed = { ...pullRequest, reviews, updatedAt: this.#time() };
      await this.#store.save(changed);
      this.#tellOf({
        kind: "review",
        action: "dismissed",
        pullRequest: changed,
        review: dismissed,
        sender: by,
      });
      return dismissed;
    });
  }

  async comment(number: number, author: string, body: string): Promise<Comment> {
    return this.#alone(async () => {
      const pullRequest = this.#mustFind(number);
      const id = number * 10_000 + 5000 + pullRequest.comments.length;
      const comment: Comment = { id, author, body, createdAt: this.#time() };
      const comments = [...pullRequest.comments, comment];
      const changed = { ...pullRequest, comments, updatedAt: this.#time() };
      await this.#store.save(changed);
      this.#tellOf({ kind: "comment", pullRequest: changed, comment, sender: author });
      return comment;
    });
  }

  /**
   * Merges with git in the repository itself. Resolves to the commit of the base branch after that.
   */
  async merge(number: number, order: MergeOrder): Promise<Result<string>> {
    return this.#alone(async () => {
      const { repository } = this;
      const pullRequest = this.#mustFind(number);
      const commits = await this.commits(pullRequest);
      if (pullRequest.state !== "open" || commits === null) return refuse({ kind: "not-open" });
      const { head, base } = commits;
      if (order.sha !== undefined && order.sha !== head) return refuse({ kind: "head-moved" });
      this.#asked.add(`${base} ${head}`);
      const merged = await repository.mergeTree(base, head);
      if (!("tree" in merged)) return refuse({ kind: "conflict", paths: await this.conflicts(commits) });
      const why = this.rulesAgainst(pullRequest, commits);
      if (why.length > 0) return refuse({ kind: "rules", why });
      const sha =
        order.method === "rebase"
          ? await repository.rebase(commits)
          : await repository.commitTree(
              merged.tree,
              order.method === "merge" ? [base, head] : [base],
              messageOf(pullRequest, repository, order),
            );
      if (sha === null) return refuse({ kind: "conflict", paths: ["(one of the commits)"] });
      // If somebody pushed to the base branch meanwhile, their push stays, because the merge was
      // tried on the earlier commit.
      if (!(await repository.moveRef(`refs/heads/${pullRequest.base}`, sha, base))) {
        return refuse({ kind: "head-moved" });
      }
      await this.#pin(number, head);
      const by = order.by ?? AUTHOR;
      const closed = await this.#closed(pullRequest, base);
      const changed = {
        ...pullRequest,
        ...closed,
        mergedAt: this.#time(),
        mergedBy: by,
        mergeCommitSha: sha,
      };
      await this.#save(changed, "closed", by);
      return { ok: true, value: sha };
    });
  }

  /**
   * Takes in a push. New heads are pinned, a pull request whose branch is gone is closed, and one
   * whose commits have arrived in its base is merged. A second time changes nothing.
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
    const head = await repository.headSha(pullRequest);
    if (head === null) {
      await this.#save({ ...pullRequest, ...(await this.#closed(pullRequest)) }, "closed", AUTHOR);
      return;
    }
    const commits = await this.commits(pullRequest);
    if (commits !== null && commits.mergeBase === head) {
      const merge = commits.base;
      // The present base already has the change.
      const closed = await this.#closed(pullRequest, pullRequest.mergeBaseSha);
      const changed = { ...pullRequest, ...closed, mergedAt: this.#time(), mergeCommitSha: merge };
      await this.#save(changed, "closed", AUTHOR);
      return;
    }
    if (pinned === head) return;
    await this.#pin(number, head);
    const mergeBaseSha = commits?.mergeBase ?? pullRequest.mergeBaseSha;
    const isStale = this.records.protection(pullRequest.base)?.dismissesStaleReviews === true;
    const reviews = pullRequest.reviews.map((review) =>
      isStale && review.state === "APPROVED" ? { ...review, state: "DISMISSED" as const } : review,
    );
    const changed = { ...pullRequest, mergeBaseSha, reviews, updatedAt: this.#time() };
    await this.#save(changed, "synchronize", AUTHOR);
  }

  async #save(pullRequest: PullRequest, action: PullRequestAction, sender: string): Promise<void> {
    await this.#store.save(pullRequest);
    this.#tellOf({ kind: "pull-request", action, pullRequest, sender });
  }

  #tellOf(event: Untold): void {
    this.#tell({ ...event, repository: this.repository });
  }

  async #closed(pullRequest: PullRequest, base?: string): Promise<Partial<PullRequest>> {
    const now = this.#time();
    const head = await this.repository.headSha(pullRequest);
    if (head !== null) await this.#pin(pullRequest.number, head);
    const baseSha = base ?? (await this.repository.branchSha(pullRequest.base));
    return { state: "closed", closedAt: now, updatedAt: now, baseSha };
  }

  async #whyNotReopened(pullRequest: PullRequest): Promise<string | null> {
    if (pullRequest.mergedAt !== null) return "The pull request was merged.";
    if ((await this.repository.headSha(pullRequest)) === null) {
      return `The ${pullRequest.head} branch was deleted.`;
    }
    if (!this.#openOn(pullRequest)) return null;
    return `There is already an open pull request from ${pullRequest.head} to ${pullRequest.base}.`;
  }

  async #whyNotInto(base: string, { head, fork }: PullRequest): Promise<PullRequestRefusal | null> {
    const baseSha = await this.repository.branchSha(base);
    const headSha = await this.repository.headSha({ head, fork });
    if (baseSha === null) return { kind: "invalid-field", field: "base" };
    if (headSha === null) return { kind: "invalid-field", field: "head" };
    if (this.#openOn({ head, fork, base })) return { kind: "exists", head };
    const hasCommits = (await this.repository.mergeBase(baseSha, headSha)) !== headSha;
    return hasCommits ? null : { kind: "no-commits", base, head };
  }

  #openOn({ head, fork, base }: Pick<PullRequest, "head" | "fork" | "base">): boolean {
    const open = this.all().filter(({ state }) => state === "open");
    return open.some((other) => other.head === head && other.fork === fork && other.base === base);
  }

  /** Keeps the commits of a pull request, whatever happens to its branch. */
  async #pin(number: number, head: string): Promise<void> {
    await this.repository.setRef(`refs/pull/${number}/head`, head);
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
 * Returns the branch of a head as the API takes it, `branch` or `owner:branch`. Null if it is
 * another owner's or isn't a branch's name.
 */
export function headBranch(head: string, owner: string): string | null {
  const colon = head.indexOf(":");
  if (colon >= 0 && head.slice(0, colon).toLowerCase() !== owner.toLowerCase()) return null;
  const branch = head.slice(colon + 1);
  return isBranchName(branch) ? branch : null;
}

type WithoutRepository<Event> = Event extends HostEvent ? Omit<Event, "repository"> : never;
type Untold = WithoutRepository<HostEvent>;

/**
 * Returns the id of a new comment on a line. `index` is its place among the comments of one review.
 */
function lineCommentId({ number, lineComments }: PullRequest, index = 0): number {
  return number * 10_000 + 7000 + lineComments.length + index;
}

/** Returns the action with which GitHub's webhook would report a change. */
function actionOf(before: PullRequest, after: PullRequest): PullRequestAction {
  if (before.state !== after.state) return after.state === "open" ? "reopened" : "closed";
  if (before.isDraft !== after.isDraft) return after.isDraft ? "converted_to_draft" : "ready_for_review";
  if (before.labels.length < after.labels.length) return "labeled";
  if (before.assignees.length < after.assignees.length) return "assigned";
  if (before.reviewers.length < after.reviewers.length) return "review_requested";
  return "edited";
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
