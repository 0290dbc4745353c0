import { z } from "zod";
import { TurnFailedError } from "../../base/run-error.ts";
import { Account } from "./account.ts";
import { boundedList, listOf } from "./bounded-list.ts";
import { GitHubApi, type GitHubOptions } from "./github-api.ts";
import { readChecksBefore } from "./github-checks.ts";
import { RefusedByCodeHostError } from "./github-fault.ts";
import { readFailedChecks, type SaidByCheck } from "./github-failed-checks.ts";
import { readPages } from "./read-pages.ts";
import { readMayWrite } from "./write-access.ts";

const PULL = "/repos/{owner}/{repo}/pulls/{number}";
/** People may fill 64 KiB with each comment, and an answer may have 20 MiB. */
const THREADS_PAGE = 10;
/** More of them aren't read, and the newest count. */
const MAX_THREAD_PAGES = 20;
const COMMENTS_OF_THREAD = 20;
/** The most failed checks that are passed on. */
const MAX_CHECKS = 5;
/** More than is passed on of anything. */
const MAX_TEXT_BYTES = 32 * 1024;

/** GraphQL writes long numbers as texts. */
const Id = z.union([z.int(), z.string().regex(/^\d{1,16}$/)]).transform(Number);
const Said = z.object({ author: Account, body: z.string().nullish() });
const Line = z.int().positive().nullish();
/** On the left is what the pull request removes or changes, with the numbers from before that. */
const Side = z.string().nullish();

const Thread = z.object({
  isResolved: z.boolean(),
  path: z.string(),
  line: Line,
  diffSide: Side,
  first: listOf(z.object({ id: Id, diffHunk: z.string().nullish() }), 1),
  comments: z.object({ totalCount: z.int().nullish(), nodes: listOf(Said) }),
});
const Opinion = z.object({ id: Id, state: z.string(), author: Account, body: z.string().nullish() });
const Asked = z.object({ requestedReviewer: z.object({ login: z.string() }) });
/** REST writes states in lower case, GraphQL in upper case, and REST tells a merge by its time. */
const State = z
  .string()
  .toLowerCase()
  .pipe(z.enum(["open", "closed", "merged"]));
const Shown = z.object({
  state: State,
  author: Account,
  headRefOid: z.string(),
  baseRefName: z.string(),
  opinions: listOf(Opinion),
  requested: listOf(Asked),
  reviewThreads: z.object({
    nodes: listOf(Thread),
    pageInfo: z.object({ hasPreviousPage: z.boolean(), startCursor: z.string().nullish() }),
  }),
});
const Answer = z.object({ repository: z.object({ pullRequest: Shown }) });

const QUERY = `query ($owner: String!, $repo: String!, $number: Int!, $before: String) {
  repository(owner: $owner, name: $repo) { pullRequest(number: $number) {
    state author { __typename login } headRefOid baseRefName
    opinions: latestOpinionatedReviews(first: 100) {
      nodes { id: fullDatabaseId state body author { __typename login } }
    }
    requested: reviewRequests(first: 100) { nodes { requestedReviewer { ... on User { login } } } }
    reviewThreads(last: ${THREADS_PAGE}, before: $before) {
      nodes {
        isResolved path line diffSide
        first: comments(first: 1) { nodes { id: fullDatabaseId diffHunk } }
        comments(last: ${COMMENTS_OF_THREAD}) { totalCount nodes { author { __typename login } body } }
      }
      pageInfo { hasPreviousPage startCursor }
    }
  } }
}`;

const RestComment = z.object({
  id: Id,
  in_reply_to_id: Id.nullish(),
  path: z.string(),
  line: Line,
  side: Side,
  diff_hunk: z.string().nullish(),
  user: Account,
  body: z.string().nullish(),
});
const RestReview = z.object({ id: Id, state: z.string(), user: Account, body: z.string().nullish() });
const RestPull = z.object({
  state: State,
  merged_at: z.string().nullish(),
  user: Account,
  head: z.object({ sha: z.string() }),
  base: z.object({ ref: z.string() }),
  requested_reviewers: listOf(z.object({ login: z.string() })),
});

/** What somebody wrote at the code host (untrusted). */
export type SaidByAccount = { login: string; isBot: boolean; words: string };

/** Comments on a line of a pull request (untrusted). */
export type HostedThread = {
  /** Its first comment, to which replies go. */
  id: number;
  path: string;
  /** The line now, or null if it isn't there anymore. */
  line: number | null;
  /** The lines around it, as they were when it was written. */
  hunk: string;
  /** The oldest first. */
  comments: SaidByAccount[];
  /** True if there were more comments before these. */
  lacksEarlier?: boolean;
};

/** What people say about a pull request (untrusted). */
export type HostedReviews = {
  state: z.infer<typeof State>;
  /** Who opened it. */
  opener: string;
  headSha: string;
  baseRef: string;
  /** Those that nobody has resolved. A host without GraphQL doesn't say which are. */
  threads: HostedThread[];
  /** The reviews that ask for changes: the newest of each reviewer. */
  opinions: (SaidByAccount & { id: number })[];
  /** Whose review is requested now. */
  requested: string[];
};

/** See {@link createGitHubReviews}. */
export type ReviewHost = ReturnType<typeof createGitHubReviews>;

/**
 * Reads and answers reviews on GitHub, or on a host with a compatible API. All methods reject with
 * a `TransientRunError` if asking again may help, and otherwise with a `TurnFailedError`.
 */
export function createGitHubReviews(options: GitHubOptions) {
  const { owner, repo } = options;
  const api = new GitHubApi({ ...options, maxTextBytes: MAX_TEXT_BYTES });

  return {
    /** What people say about a pull request, GraphQL first. */
    async read(number: number, signal: AbortSignal): Promise<HostedReviews> {
      try {
        return await readByGraphql(api, { owner, repo, number }, signal);
      } catch (error) {
        const isOther = error instanceof RefusedByCodeHostError && ![401, 403].includes(error.status);
        if (!isOther) throw error;
        return readByRest(api, number, signal);
      }
    },

    /** True if this person may write to the repository. Rejects if the host doesn't tell. */
    async mayWrite(username: string, signal: AbortSignal): Promise<boolean> {
      try {
        return await readMayWrite(api, username, signal);
      } catch (error) {
        if (!(error instanceof RefusedByCodeHostError)) throw error;
        throw new TurnFailedError(
          "The code host doesn't tell who may write to the repository, so no comment counts. The " +
            'service\'s App needs "metadata: read" for that, or its token the right to push.',
          { details: error.details },
        );
      }
    },

    /** Replies to a comment on a line. */
    async reply(number: number, comment: number, body: string, signal: AbortSignal): Promise<void> {
      const asked = { doing: "Replying to a comment", signal, schema: z.unknown() };
      await api.ask(asked, `POST ${PULL}/comments/{comment}/replies`, { number, comment, body });
    },

    /** Asks somebody for a review once more. */
    async askAgain(number: number, login: string, signal: AbortSignal): Promise<void> {
      const asked = { doing: "Asking for a review", signal, schema: z.unknown() };
      await api.ask(asked, `POST ${PULL}/requested_reviewers`, { number, reviewers: [login] });
    },

    /** What the checks say that failed for this commit and didn't fail before the change. */
    async failedChecks(pull: HostedReviews, signal: AbortSignal): Promise<SaidByCheck[]> {
      const { headSha: sha, baseRef } = pull;
      const before = await readChecksBefore(api, { baseRef, headSha: sha }, signal).catch(
        (error: unknown) => {
          if (error instanceof RefusedByCodeHostError) return [];
          throw error;
        },
      );
      const failedBefore = new Set(before.flatMap(({ name, state }) => (state === "failed" ? [name] : [])));
      const counts = (name: string) => !failedBefore.has(name);
      return readFailedChecks(api, { sha, counts, max: MAX_CHECKS, annotations: "all" }, signal);
    },
  };
}

async function readByGraphql(
  api: GitHubApi,
  named: { owner: string; repo: string; number: number },
  signal: AbortSignal,
): Promise<HostedReviews> {
  const asked = { doing: "Reading reviews", signal, schema: Answer };
  let threads: z.infer<typeof Thread>[] = [];
  let before: string | null = null;
  let shown: z.infer<typeof Shown>;
  for (let page = 1; ; page += 1) {
    const answer: { data: z.infer<typeof Answer> } = await api.query(asked, QUERY, { ...named, before });
    shown = answer.data.repository.pullRequest;
    threads = [...shown.reviewThreads.nodes, ...threads];
    const { hasPreviousPage, startCursor = null } = shown.reviewThreads.pageInfo;
    if (!hasPreviousPage || startCursor === null || page === MAX_THREAD_PAGES) break;
    before = startCursor;
  }
  return {
    state: shown.state,
    opener: shown.author.login,
    headSha: shown.headRefOid,
    baseRef: shown.baseRefName,
    threads: threads.flatMap(({ isResolved, path, line, diffSide, first: [first], comments }) => {
      if (first === undefined || isResolved) return [];
      const { totalCount, nodes } = comments;
      const lacksEarlier = (totalCount ?? 0) > COMMENTS_OF_THREAD;
      const at = { path, line: lineNow(line, diffSide), hunk: first.diffHunk ?? "" };
      return [{ id: first.id, ...at, comments: nodes.map(toSaid), lacksEarlier }];
    }),
    opinions: askingForChanges(shown.opinions),
    requested: shown.requested.map(({ requestedReviewer }) => requestedReviewer.login),
  };
}

async function readByRest(api: GitHubApi, number: number, signal: AbortSignal): Promise<HostedReviews> {
  const asking = <T extends z.ZodType>(schema: T) => ({ doing: "Reading reviews", signal, schema });
  const params = { number };
  const pull = await api.ask(asking(RestPull), `GET ${PULL}`, params);
  const newestFirst = { ...params, sort: "created", direction: "desc" };
  const listed = { route: `GET ${PULL}/comments`, params: newestFirst };
  const comments = (await readPages(api, asking(boundedList(RestComment)), listed)).toReversed();
  const reviews = await readPages(api, asking(boundedList(RestReview)), {
    route: `GET ${PULL}/reviews`,
    params,
  });
  const newest = new Map(
    reviews
      .filter(({ state }) => ["APPROVED", "CHANGES_REQUESTED", "DISMISSED"].includes(state.toUpperCase()))
      .map((review) => [review.user.login, { ...review, author: review.user }]),
  );
  return {
    state: pull.merged_at ? "merged" : pull.state,
    opener: pull.user.login,
    headSha: pull.head.sha,
    baseRef: pull.base.ref,
    threads: comments
      .filter(({ in_reply_to_id: before }) => typeof before !== "number")
      .map((first) => ({
        id: first.id,
        path: first.path,
        line: lineNow(first.line, first.side),
        hunk: first.diff_hunk ?? "",
        comments: comments
          .filter((each) => each === first || each.in_reply_to_id === first.id)
          .map(({ user, body }) => toSaid({ author: user, body })),
      })),
    opinions: askingForChanges([...newest.values()]),
    requested: pull.requested_reviewers.map(({ login }) => login),
  };
}

function lineNow(line: z.infer<typeof Line>, side: z.infer<typeof Side>): number | null {
  return side === "LEFT" ? null : (line ?? null);
}

function toSaid({ author, body }: z.infer<typeof Said>): SaidByAccount {
  return { ...author, words: body ?? "" };
}

function askingForChanges(opinions: readonly z.infer<typeof Opinion>[]): HostedReviews["opinions"] {
  return opinions
    .filter(({ state }) => state.toUpperCase() === "CHANGES_REQUESTED")
    .map(({ id, ...said }) => ({ id, ...toSaid(said) }));
}
