import { z } from "zod";
import { boundedList } from "./bounded-list.ts";
import { type GitHubOptions, GitHubApi } from "./github-api.ts";
import { brokenPromise, RefusedByCodeHostError } from "./github-fault.ts";
import type { LeftPullRequest } from "../../../shared/contract/pull-request.ts";
import { HostTime } from "./github-pull-facts.ts";
import { RunError, TransientRunError } from "../../base/run-error.ts";

/** Absent if the host doesn't say, and null if the repository is gone, which only a fork can be. */
const PullRepository = z.object({ full_name: z.string() }).nullish();

const Pull = z.object({
  number: z.int().positive(),
  node_id: z.string().optional(),
  title: z.string(),
  state: z.enum(["open", "closed"]),
  draft: z.boolean().optional(),
  merged_at: z.string().nullish(),
  closed_at: HostTime.nullish().catch(null),
  html_url: z.url({ protocol: /^https?$/ }).max(2000),
  body: z.string().nullish(),
  head: z.object({ ref: z.string(), sha: z.string(), repo: PullRepository }),
  base: z.object({ ref: z.string(), repo: PullRepository }),
  // Lists don't have these.
  changed_files: z.int().min(0).optional(),
  additions: z.int().min(0).optional(),
  deletions: z.int().min(0).optional(),
});
type Pull = z.infer<typeof Pull>;

/** `internal` means that everybody in the enterprise can read it. */
const Repository = z.object({ private: z.boolean(), visibility: z.string().optional() });
const FullName = z.object({ full_name: z.string() });
/** For labels, the answer is a list. */
const Decorated = z
  .object({ assignees: boundedList(z.object({ login: z.string() })).nullish() })
  .catch({ assignees: null });

const Marked = z.object({ markPullRequestReadyForReview: z.object({}) });

const REPOSITORY = "/repos/{owner}/{repo}";
const PULLS = `${REPOSITORY}/pulls`;
/** The newest pull requests, whatever their state. */
const NEWEST = { state: "all", sort: "created", direction: "desc", per_page: 100 };
const READY = `mutation ($id: ID!) {
  markPullRequestReadyForReview(input: { pullRequestId: $id }) { pullRequest { isDraft } }
}`;

/** A repository's name at the code host. */
type Named = { owner: string; repo: string };

/** See {@link createGitHubCodeHost}. */
export type PullRequestHost = ReturnType<typeof createGitHubCodeHost>;

/**
 * Pull requests on GitHub, or on a host with a compatible API. All methods reject with a
 * `TransientRunError` if asking again may help, and otherwise with a `TurnFailedError`.
 */
export function createGitHubCodeHost(options: GitHubOptions & { fork?: Named | null }) {
  const { owner, repo, fork = null } = options;
  const from = fork ?? { owner, repo };
  const isOurs = (pull: Pull) => (fork === null ? isFromHere(pull) : isFrom(fork, pull));
  const api = new GitHubApi(options);
  /** The visibility of the project's own repository, once known. */
  let ownVisibility: boolean | null | undefined;

  /** Rejects with a broken promise unless these are pull requests of our own repository. */
  async function assertOurs(doing: string, pulls: readonly Pull[], signal: AbortSignal): Promise<void> {
    if (!pulls.every(hasOwnAddress)) throw brokenPromise(doing);
    const names = new Set(pulls.flatMap(({ base }) => base.repo?.full_name.toLowerCase() ?? []));
    names.delete(`${owner}/${repo}`.toLowerCase());
    if (names.size === 0) return;
    // The settings may have its old name, which the host still answers to.
    const asked = { doing: "Reading the repository's name", signal, schema: FullName };
    names.delete((await api.ask(asked, `GET ${REPOSITORY}`)).full_name.toLowerCase());
    if (names.size > 0) throw brokenPromise(doing);
  }

  return {
    /**
     * The pull requests from this branch of the repository, or of the fork, newest first, whatever
     * their state, their base, and whoever opened them.
     */
    async find(branch: string, signal: AbortSignal): Promise<HostedPullRequest[]> {
      const asked = { doing: "Looking for the pull request", signal, schema: boundedList(Pull) };
      const pulls = await api.ask(asked, `GET ${PULLS}`, { ...NEWEST, head: `${from.owner}:${branch}` });
      // Hosts that don't know the filter return all pull requests.
      const ours = pulls.filter((pull) => pull.head.ref === branch && isOurs(pull));
      await assertOurs(asked.doing, ours, signal);
      return ours.toSorted((a, b) => b.number - a.number).map(toPullRequest);
    },

    /**
     * Opens a pull request. Resolves to "exists" if there is an open one already, and to
     * "no-drafts" if the host doesn't support drafts.
     */
    async create(
      input: { branch: string; base: string; title: string; body: string; isDraft: boolean },
      signal: AbortSignal,
    ): Promise<HostedPullRequest | "exists" | "no-drafts"> {
      const { branch, isDraft, ...texts } = input;
      try {
        const head = fork === null ? branch : `${fork.owner}:${branch}`;
        // Needed if both belong to the same organization.
        const repository = fork?.owner === owner ? { head_repo: fork.repo } : {};
        const params = { head, ...repository, ...texts, ...(isDraft && { draft: true }) };
        const asked = { doing: "Opening the pull request", signal, schema: Pull };
        const pull = await api.ask(asked, `POST ${PULLS}`, params);
        const isAsked = pull.head.ref === branch && pull.base.ref === texts.base;
        if (!isAsked || !isOurs(pull)) throw brokenPromise(asked.doing);
        await assertOurs(asked.doing, [pull], signal);
        return toPullRequest(pull);
      } catch (error) {
        if (!(error instanceof RefusedByCodeHostError)) throw error;
        if (/already exists/i.test(error.said)) return "exists";
        // Not every plan has drafts (https://docs.github.com/en/rest/pulls/pulls).
        if (isDraft && /draft/i.test(error.said)) return "no-drafts";
        throw error;
      }
    },

    /** Changes texts, closes it, or opens it again. Resolves to the pull request as it is then. */
    async change(
      number: number,
      changes: { title?: string; body?: string; state?: "open" | "closed" },
      signal: AbortSignal,
    ) {
      const asked = { doing: "Updating the pull request", signal, schema: Pull };
      const pull = await api.ask(asked, `PATCH ${PULLS}/${number}`, changes);
      if (pull.number !== number) throw brokenPromise(asked.doing);
      await assertOurs(asked.doing, [pull], signal);
      return toPullRequest(pull);
    },

    /** Marks a draft as ready for review. */
    async markReady(nodeId: string, signal: AbortSignal): Promise<void> {
      const asked = { doing: "Marking the pull request as ready", signal, schema: Marked };
      await api.query(asked, READY, { id: nodeId });
    },

    /**
     * Adds a label, assigns a person, or requests a review from a person or a team (`owner/team`).
     * Resolves to false if the host silently ignored it.
     */
    async decorate(
      number: number,
      kind: "labels" | "assignees" | "reviewers",
      name: string,
      signal: AbortSignal,
    ): Promise<boolean> {
      const asked = { doing: `Setting the ${kind}`, signal, schema: Decorated };
      const team = name.split("/")[1];
      const params = team === undefined ? { [kind]: [name] } : { team_reviewers: [team] };
      const at =
        kind === "reviewers"
          ? `${PULLS}/${number}/requested_reviewers`
          : `${REPOSITORY}/issues/${number}/${kind}`;
      const { assignees } = await api.ask(asked, `POST ${at}`, params);
      // GitHub silently leaves out people who can't be assigned.
      const isNamed = assignees?.some(({ login }) => login.toLowerCase() === name.toLowerCase()) === true;
      return kind !== "assignees" || isNamed;
    },

    /**
     * True if everybody can read the project's repository, or another repository of the same host.
     * Null if the host doesn't say.
     */
    async isPublic(signal: AbortSignal, repository?: { owner: string; repo: string }) {
      if (repository === undefined && ownVisibility !== undefined) return ownVisibility;
      const asked = { doing: "Reading the repository's visibility", signal, schema: Repository };
      try {
        const found = await api.ask(asked, `GET ${REPOSITORY}`, { ...repository });
        const isPublic = visibilityOf(found);
        if (repository === undefined) ownVisibility = isPublic;
        return isPublic;
      } catch (error) {
        const isLimited = error instanceof TransientRunError && error.retryAfterMs !== null;
        if (error instanceof RunError && !isLimited) return null;
        throw error;
      }
    },
  };
}

/** True if the repository is public. Null if the answer contradicts itself. */
function visibilityOf({ private: isPrivate, visibility }: z.infer<typeof Repository>): boolean | null {
  if (visibility === "internal") return false;
  const named = visibility ?? (isPrivate ? "private" : "public");
  return named === (isPrivate ? "private" : "public") ? !isPrivate : null;
}

/**
 * False for a fork's, also for one of a fork that is gone. Judges by the answer alone, because the
 * settings may have the repository's old name.
 */
function isFromHere({ head, base }: Pull): boolean {
  if (head.repo === null) return false;
  return head.repo === undefined || !base.repo || head.repo.full_name === base.repo.full_name;
}

function isFrom({ owner, repo }: Named, { head }: Pull): boolean {
  return head.repo?.full_name.toLowerCase() === `${owner}/${repo}`.toLowerCase();
}

/** True if its page is where such a page is in its own repository, as far as the answer says. */
function hasOwnAddress({ number, html_url: url, base }: Pull): boolean {
  const path = URL.parse(url)?.pathname.toLowerCase() ?? "";
  const name = base.repo?.full_name.toLowerCase();
  return name === undefined || ["pull", "pulls"].some((kind) => path.endsWith(`/${name}/${kind}/${number}`));
}

/** A pull request as the host has it (untrusted, unbounded), and what only we need of it. */
export type HostedPullRequest = LeftPullRequest & {
  /** Its id in GraphQL, for what REST can't do. Null if it has none. */
  nodeId: string | null;
  isDraft: boolean;
  /** The branch that it is to be merged into, or was. */
  baseRef: string;
  /** When it was closed or merged, epoch milliseconds by the host's clock. Null if unknown. */
  closedAt: number | null;
  body: string | null;
};

function toPullRequest(pull: Pull): HostedPullRequest {
  const { number, title, state, merged_at: mergedAt, html_url: url, body, head, base } = pull;
  const { changed_files: files, additions, deletions } = pull;
  return {
    number,
    nodeId: pull.node_id ?? null,
    title,
    state: state === "closed" && mergedAt ? "merged" : state,
    isDraft: pull.draft === true,
    headRef: head.ref,
    headSha: head.sha,
    baseRef: base.ref,
    closedAt: pull.closed_at ?? null,
    url,
    body: body ?? null,
    // A list has no sizes.
    files: files ?? null,
    additions: additions ?? null,
    deletions: deletions ?? null,
  };
}
