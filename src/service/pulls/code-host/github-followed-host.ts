import { z } from "zod";
import { type FailedCheck, MAX_REASONS } from "../../../shared/contract/pull-request.ts";
import { TransientRunError } from "../../base/run-error.ts";
import type { HostedPage } from "../../config/page-address.ts";
import { listOf } from "./bounded-list.ts";
import { GitHubApi, type GitHubOptions, type GraphqlError } from "./github-api.ts";
import { readChecksBefore, shownChecks } from "./github-checks.ts";
import { RefusedByCodeHostError } from "./github-fault.ts";
import { HostTime, type PullFacts, type PullLook, pullQuery, toLook, toName } from "./github-pull-facts.ts";
import { toReason } from "./failed-check-words.ts";
import { readFailedChecks } from "./github-failed-checks.ts";
import { queryComments, readComments, type ReviewComments } from "./github-review-comments.ts";
import { type PullCommit, readPullCommits, readTree } from "./github-pull-commits.ts";
import { readIsBehind, readPull } from "./github-pull-reading.ts";
import { WriteAccess } from "./write-access.ts";

const LIST = "GET /repos/{owner}/{repo}/pulls";
const BRANCH = "GET /repos/{owner}/{repo}/git/ref/heads";
const PAGE = 100;
/** If more has changed, each followed pull request is looked at instead. */
const MAX_PAGES = 5;
/** For GraphQL, which answers within ten seconds or not at all. */
const MAX_BATCH = 20;
/** For REST, which takes several calls per pull request. */
const REST_BATCH = 5;
/** Pages get smaller while lists fail, down to this. */
const MIN_PAGE = 10;
/** After so many pages that were read, they get larger again. */
const PAGES_BEFORE_MORE = 60;
/** How often GraphQL may refuse in a row, once it has answered, before REST is used. */
const PATIENCE = 5;
/** Statuses of a host without GraphQL. One that has it may also answer so for a moment. */
const NO_GRAPHQL = [400, 404, 405, 410, 422];
/** How often REST is used before a host that didn't seem to have GraphQL is asked again. */
const REST_LOOKS = 50;
/** Messages of an older host that lacks some of the fields. */
const NO_SUCH_FIELD = /doesn't exist on type|cannot query field|can't be spread/i;
/**
 * A classic token needs `read:org` to read any field of a team. Without it, we ask again without
 * teams.
 */
const NO_SUCH_SCOPE = /not been granted the required scopes/i;
const MAX_KEPT = 1000;
/** More than is shown of anything. The thread that answers HTTP parses what is left. */
const MAX_TEXT_BYTES = 32 * 1024;

const Listed = z.object({ number: z.int().positive(), updated_at: HostTime });
const ChangedFile = z.object({
  filename: z.string(),
  status: z.string(),
  additions: z.int(),
  patch: z.string().nullish(),
});
const Ref = z.object({ object: z.object({ sha: z.string() }) });

/**
 * Reads followed pull requests from GitHub, or from a host with a compatible API. All methods
 * reject with a `TransientRunError` if asking again may help, and otherwise with a
 * `RefusedByCodeHostError`.
 */
export class GitHubFollowedHost {
  readonly #api: GitHubApi;
  readonly #access: WriteAccess;
  readonly #repository: { owner: string; repo: string };
  /** How many more times REST is used. */
  #restLooks = 0;
  /** How many more refusals of GraphQL are waited out. */
  #patience = 0;
  #pageSize = PAGE;
  /** How many pages were read since one failed. */
  #pagesRead = 0;
  #readsTeams = true;
  readonly #wantsPreviews: () => boolean;
  #mayReadPreviews = true;
  #batch = MAX_BATCH;
  /** The names of the checks that failed before, by base branch and head commit. */
  readonly #failedBefore = new Map<string, ReadonlySet<string>>();
  /** The comments of reviews, as they were when the pull request changed last. */
  readonly #comments = new Map<number, { updatedAt: number; comments: ReviewComments }>();
  /** Why checks failed, by commit and names. */
  readonly #reasons = new Map<string, FailedCheck[]>();

  /** `wantsPreviews` says whether it also reads where pull requests were deployed to. */
  constructor(options: GitHubOptions & { wantsPreviews: () => boolean }) {
    this.#wantsPreviews = options.wantsPreviews;
    this.#api = new GitHubApi({ ...options, maxTextBytes: MAX_TEXT_BYTES });
    this.#access = new WriteAccess(this.#api, options.clock);
    this.#repository = { owner: options.owner, repo: options.repo };
  }

  /** The most pull requests that one call may look at. */
  get batch(): number {
    return Math.min(this.#batch, this.#restLooks === 0 ? MAX_BATCH : REST_BATCH);
  }

  /**
   * The pull requests that changed at `since` or later, newest first. `since` is in epoch
   * milliseconds by the host's clock; if it is null, only the newest are read. `isComplete` is
   * false if there were more changes than we read. Resolves to null if nothing has changed since
   * the state of the list that `etag` identifies.
   */
  async changed(since: number | null, etag: string | null, signal: AbortSignal) {
    const pageSize = this.#pageSize;
    const pulls: { number: number; updatedAt: number }[] = [];
    let isComplete = false;
    let newEtag: string | null = null;
    for (let page = 1; page <= MAX_PAGES && !isComplete; page += 1) {
      const isFirst = page === 1;
      const answer = await this.#page({ page, pageSize, etag: isFirst ? etag : null }, signal);
      if (answer === null) return null;
      if (isFirst) newEtag = etagOf(answer);
      pulls.push(...answer.data.map(({ number, updated_at: updatedAt }) => ({ number, updatedAt })));
      const last = answer.data.at(pageSize - 1);
      isComplete = since === null || last === undefined || last.updated_at < since;
    }
    return { pulls, isComplete, etag: newEtag };
  }

  /**
   * The newest commit of a branch. `sha` is null if the host doesn't show the branch. Resolves to
   * null if nothing has changed since the answer that `etag` identifies.
   */
  async headOf(
    branch: string,
    etag: string | null,
    signal: AbortSignal,
  ): Promise<{ sha: string | null; etag: string | null } | null> {
    const asked = { doing: "Looking at the base branch", signal, schema: Ref };
    // A name may have characters that mean something in an address.
    const named = branch.split("/").map(encodeURIComponent).join("/");
    try {
      const answer = await this.#api.answerIfChanged(asked, `${BRANCH}/${named}`, { etag });
      return answer && { sha: answer.data.object.sha, etag: etagOf(answer) };
    } catch (error) {
      // It may also be a token that can't read branches. Its pull requests are followed all the
      // same.
      if (error instanceof RefusedByCodeHostError) return { sha: null, etag: null };
      throw error;
    }
  }

  async look(all: readonly number[], signal: AbortSignal): Promise<Map<number, PullLook>> {
    const numbers = all.slice(0, this.batch);
    try {
      const looks =
        this.#restLooks === 0 ? await this.#query(numbers, signal) : await this.#read(numbers, signal);
      this.#batch = Math.min(MAX_BATCH, this.#batch * 2);
      return looks;
    } catch (error) {
      if (this.#switchWay(error)) return this.look(all, signal);
      // The query was too long or took too long, which GitHub may report with a 200. Ask for less
      // at once.
      const isTooMuch = error instanceof RefusedByCodeHostError ? error.status === 200 : isPassing(error);
      if (!isTooMuch) throw error;
      this.#batch = Math.max(1, Math.floor(numbers.length / 2));
      // A pull request that the host always fails at doesn't hold up the others.
      if (numbers.length === 1) return new Map(numbers.map((number) => [number, "unreadable"]));
      throw error;
    }
  }

  /** True if the base branch has commits that the pull request's branch lacks. */
  isBehind(pull: { baseRef: string; headSha: string }, signal: AbortSignal): Promise<boolean> {
    return readIsBehind(this.#api, pull, signal);
  }

  /**
   * The names of the checks that also failed before the pull request's change. Null if they can't
   * be read now.
   */
  async failedBefore(facts: PullFacts, signal: AbortSignal): Promise<ReadonlySet<string> | null> {
    const key = `${facts.baseRef} ${facts.headSha}`;
    const known = this.#failedBefore.get(key);
    if (known !== undefined) return known;
    try {
      const checks = await readChecksBefore(this.#api, facts, signal);
      const failed = new Set(checks.filter(({ state }) => state === "failed").map(({ name }) => name));
      if (this.#failedBefore.size >= MAX_KEPT) this.#failedBefore.clear();
      // Checks that are still running there, or haven't begun, may fail, too.
      if (checks.length > 0 && checks.every(({ state }) => state !== "pending"))
        this.#failedBefore.set(key, failed);
      return failed;
    } catch (error) {
      if (error instanceof RefusedByCodeHostError) return new Set();
      if (isPassing(error)) return null;
      throw error;
    }
  }

  /**
   * The comments on lines of reviews that ask for changes, by the number of the pull request. It is
   * left out if they can't be read now.
   */
  async comments(pulls: readonly PullFacts[], signal: AbortSignal): Promise<Map<number, ReviewComments>> {
    const found = new Map<number, ReviewComments>();
    const missing: PullFacts[] = [];
    for (const facts of pulls) {
      const known = this.#comments.get(facts.number);
      if (known?.updatedAt === facts.updatedAt) found.set(facts.number, known.comments);
      else missing.push(facts);
    }
    const numbers = missing.map(({ number }) => number);
    const read = await this.#orNothing(
      this.#readComments(numbers, signal),
      new Map<number, ReviewComments>(),
    );
    if (this.#comments.size >= MAX_KEPT) this.#comments.clear();
    for (const { number, updatedAt } of missing) {
      const comments = read.get(number);
      if (comments === undefined) continue;
      found.set(number, comments);
      this.#comments.set(number, { updatedAt, comments });
    }
    return found;
  }

  /** Why these checks of the newest commit failed, as far as they say so and it can be read now. */
  async reasons(
    { headSha: sha }: PullFacts,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<FailedCheck[]> {
    const key = JSON.stringify([sha, ...names]);
    const known = this.#reasons.get(key);
    if (known !== undefined) return known;
    const counts = (name: string) => names.includes(toName(name));
    const wanted = { sha, counts, max: MAX_REASONS, annotations: "if-silent" as const };
    const said = await this.#orNothing(readFailedChecks(this.#api, wanted, signal), null);
    if (said === null) return [];
    const reasons = said.map(toReason);
    if (this.#reasons.size >= MAX_KEPT) this.#reasons.clear();
    this.#reasons.set(key, reasons);
    return reasons;
  }

  #readComments(numbers: readonly number[], signal: AbortSignal): Promise<Map<number, ReviewComments>> {
    if (this.#restLooks === 0) return queryComments(this.#api, { ...this.#repository, numbers }, signal);
    const all = numbers.map(
      async (number) => [number, await readComments(this.#api, number, signal)] as const,
    );
    return Promise.all(all).then((read) => new Map(read));
  }

  /** What is only told beside the rest holds up nothing, except where the host asks to wait. */
  async #orNothing<T>(answer: Promise<T>, nothing: T): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof RefusedByCodeHostError || isPassing(error)) return nothing;
      throw error;
    }
  }

  /** The first files that the pull request adds or changes, with their changes as unified diffs. */
  async changedPages(number: number, signal: AbortSignal): Promise<(HostedPage & { patch: string })[]> {
    const asked = { doing: "Reading the changed files", signal, schema: listOf(ChangedFile) };
    const route = `GET /repos/{owner}/{repo}/pulls/${number}/files`;
    const files = await this.#api.ask(asked, route, { per_page: PAGE });
    return files
      .filter(({ status }) => status !== "removed")
      .map(({ filename: path, additions, patch }) => ({ path, additions, patch: patch ?? "" }));
  }

  /** The commits of a pull request, oldest first. Null if it may have more than are read. */
  commitsOf(number: number, signal: AbortSignal): Promise<PullCommit[] | null> {
    return readPullCommits(this.#api, number, signal);
  }

  /** The tree of a commit, or null if the host doesn't have the commit anymore. */
  treeOf(sha: string, signal: AbortSignal): Promise<string | null> {
    return readTree(this.#api, sha, signal);
  }

  /** One page of the list, newest change first. Null if it is as it was at `etag`. */
  async #page(
    { page, pageSize, etag }: { page: number; pageSize: number; etag: string | null },
    signal: AbortSignal,
  ) {
    const asked = { doing: "Listing pull requests", signal, schema: listOf(Listed) };
    const params = { state: "all", sort: "updated", direction: "desc", per_page: pageSize };
    const answer = await this.#api
      .answerIfChanged(asked, LIST, { ...params, page, etag })
      .catch((error: unknown) => {
        // Long texts of a hundred pull requests may be more than is read.
        if (isPassing(error)) this.#pageSize = Math.max(MIN_PAGE, Math.floor(this.#pageSize / 2));
        this.#pagesRead = 0;
        throw error;
      });
    this.#pagesRead += 1;
    if (this.#pagesRead % PAGES_BEFORE_MORE === 0) this.#pageSize = Math.min(PAGE, this.#pageSize * 2);
    return answer;
  }

  /** Looks with GraphQL, which tells more than REST. */
  async #query(numbers: readonly number[], signal: AbortSignal): Promise<Map<number, PullLook>> {
    const readsPreviews = this.#mayReadPreviews && this.#wantsPreviews();
    const wanted = { ...this.#repository, numbers, readsTeams: this.#readsTeams, readsPreviews };
    const looks = await queryPulls(this.#api, wanted, signal);
    this.#patience = PATIENCE;
    return looks;
  }

  /** Looks with REST. */
  async #read(numbers: readonly number[], signal: AbortSignal): Promise<Map<number, PullLook>> {
    const { owner } = this.#repository;
    const looks = new Map<number, PullLook>();
    for (const number of numbers) {
      const wanted = { owner, number, access: this.#access };
      looks.set(number, await readPull(this.#api, wanted, signal));
    }
    this.#restLooks -= 1;
    return looks;
  }

  /**
   * Notes for all later looks if a refusal shows that the host answers without teams only, or has
   * REST only. False if it shows neither. Throws if GraphQL should be given more time first.
   */
  #switchWay(error: unknown): boolean {
    if (!(error instanceof RefusedByCodeHostError)) return false;
    const lacksScope = NO_SUCH_SCOPE.test(error.said);
    if (lacksScope && this.#mayReadPreviews && error.said.includes("deployments")) {
      this.#mayReadPreviews = false;
      return true;
    }
    if (lacksScope && this.#readsTeams) {
      this.#readsTeams = false;
      return true;
    }
    const lacksFields = lacksScope || NO_SUCH_FIELD.test(error.said);
    const lacksGraphql = lacksFields || NO_GRAPHQL.includes(error.status);
    if (this.#restLooks > 0 || !lacksGraphql) return false;
    // REST doesn't tell which checks are required, nor how many approvals are wanted.
    if (this.#patience > 0 && !lacksFields) {
      this.#patience -= 1;
      throw new TransientRunError(error.message, { cause: error });
    }
    this.#restLooks = lacksFields ? Infinity : REST_LOOKS;
    return true;
  }
}

function etagOf({ headers }: { headers: Record<string, unknown> }): string | null {
  const { etag } = headers;
  return typeof etag === "string" ? etag : null;
}

/** True if the fault may pass by itself and isn't a rate limit. */
function isPassing(error: unknown): boolean {
  return error instanceof TransientRunError && error.retryAfterMs === null;
}

const Answer = z.object({ repository: z.record(z.string(), z.unknown()).nullish() });

/** Looks at several pull requests in one GraphQL call. */
async function queryPulls(
  api: GitHubApi,
  asking: {
    owner: string;
    repo: string;
    numbers: readonly number[];
    readsTeams: boolean;
    readsPreviews: boolean;
  },
  signal: AbortSignal,
): Promise<Map<number, PullLook>> {
  const { owner, repo, numbers } = asking;
  const pulls = numbers.map((number) => pullQuery(number, asking)).join("\n");
  const document = `query ($owner: String!, $repo: String!) {
    repository(owner: $owner, name: $repo) { ${pulls} }
  }`;
  const asked = { doing: "Looking at pull requests", signal, schema: Answer };
  const { data, errors } = await api.query(asked, document, { owner, repo });
  // If there is no repository in the answer, the token may not see it, unless there was another
  // error.
  const isHidden = !data.repository && errors.every(isRefusal);
  const looks = new Map<number, PullLook>();
  for (const number of numbers) {
    const told = data.repository?.[`p${number}`];
    const faults = errors.filter(({ path }) => path?.[1] === `p${number}`);
    const isGone = isHidden || faults.some((fault) => fault.path?.length === 2 && isRefusal(fault));
    const areHidden = faults.some(({ path }) => path?.includes("commits"));
    if (!told) looks.set(number, isGone ? "not-there" : "unreadable");
    else if (areHidden) looks.set(number, toLook(told, null));
    else looks.set(number, toLook(told, await shownChecks(api, { owner, repo, number, told }, signal)));
  }
  return looks;
}

function isRefusal({ type }: GraphqlError): boolean {
  return type === "NOT_FOUND" || type === "FORBIDDEN";
}
