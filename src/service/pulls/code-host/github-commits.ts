import { z } from "zod";
import { pause } from "../../base/pause.ts";
import { TransientRunError } from "../../base/run-error.ts";
import { GitHubApi, type GitHubOptions } from "./github-api.ts";
import { RefusedByCodeHostError } from "./github-fault.ts";

const REFS = "/repos/{owner}/{repo}/git";
const COMMIT = `mutation ($input: CreateCommitOnBranchInput!) {
  createCommitOnBranch(input: $input) { commit { oid } }
}`;
const REPOSITORY = `query ($owner: String!, $repo: String!) {
  repository(owner: $owner, name: $repo) { id }
}`;
const MOVE = `mutation ($input: UpdateRefsInput!) { updateRefs(input: $input) { clientMutationId } }`;

const Ref = z.object({ object: z.object({ sha: z.string() }) });
const Made = z.object({
  createCommitOnBranch: z.object({ commit: z.object({ oid: z.string().regex(/^[0-9a-f]{40,64}$/) }) }),
});
const GitObject = z.object({ sha: z.string().regex(/^[0-9a-f]{40,64}$/) });
const Found = z.object({ repository: z.object({ id: z.string() }) });
const Moved = z.object({ updateRefs: z.object({}) });

/** What GitHub answers if the branch isn't where it should be, or isn't seen yet. */
const ELSEWHERE = /expected branch to point to|could not resolve|no commit exists/i;
const BROKEN = /something went wrong/i;
/** A branch that was just made may take a moment until every server of the host knows it. */
const TRIES = 5;
const TRY_AGAIN_MS = 1000;

/** The change of a commit, compared with its parent. */
export type HostedCommit = {
  branch: string;
  parent: string;
  message: string;
  additions: readonly { path: string; contents: Uint8Array }[];
  deletions: readonly string[];
};

/** A merge commit. `files` are those that differ from `baseTree`, or are null if they are gone. */
export type HostedMerge = {
  branch: string;
  parents: readonly [ours: string, theirs: string];
  message: string;
  baseTree: string;
  tree: string;
  files: readonly { path: string; mode: string; content: Uint8Array | null }[];
};

/** See {@link createGitHubCommits}. */
export type CommitHost = ReturnType<typeof createGitHubCommits>;

/**
 * Commits that GitHub makes itself, as the App or the token's user, and signs. All methods reject
 * as `GitHubApi` does. They change a branch only if it is where the caller has seen it.
 */
export function createGitHubCommits(options: GitHubOptions) {
  const { owner, repo, clock } = options;
  const api = new GitHubApi(options);

  async function tipOf(branch: string, signal: AbortSignal): Promise<string | null> {
    const asked = { doing: "Looking at the branch", signal, schema: Ref };
    try {
      // A name may have characters that mean something in an address.
      const named = branch.split("/").map(encodeURIComponent).join("/");
      return (await api.ask(asked, `GET ${REFS}/ref/heads/${named}`)).object.sha;
    } catch (error) {
      if (error instanceof RefusedByCodeHostError && error.status === 404) return null;
      throw error;
    }
  }

  /** Makes an object of git's. Resolves to its id. */
  async function make(kind: "blobs" | "trees" | "commits", body: object, signal: AbortSignal) {
    const asked = { doing: "Making the merge", signal, schema: GitObject };
    return (await api.ask(asked, `POST ${REFS}/${kind}`, { ...body })).sha;
  }

  return {
    /**
     * Adds a merge commit to a branch that ends with the first of its parents. Resolves to its id,
     * to "moved" if the branch ends with something else, and to "other-files" if the host's tree
     * isn't the one that was asked for: then the branch stays. Before the branch is moved, nobody
     * sees what was made.
     */
    async merge(
      { branch, parents, message, baseTree, tree, files }: HostedMerge,
      signal: AbortSignal,
    ): Promise<{ oid: string } | "moved" | "other-files"> {
      const entries = [];
      for (const { path, mode, content } of files) {
        const blob = content && { content: Buffer.from(content).toString("base64"), encoding: "base64" };
        const sha = blob && (await make("blobs", blob, signal));
        entries.push({ path, mode, type: "blob", sha });
      }
      const made =
        entries.length === 0 ? baseTree : await make("trees", { base_tree: baseTree, tree: entries }, signal);
      if (made !== tree) return "other-files";
      const sha = await make("commits", { message, tree, parents }, signal);
      const asked = { doing: "Moving the branch", signal, schema: Ref };
      const named = branch.split("/").map(encodeURIComponent).join("/");
      try {
        await api.ask(asked, `PATCH ${REFS}/refs/heads/${named}`, { sha, force: false });
        return { oid: sha };
      } catch (error) {
        if (!(error instanceof RefusedByCodeHostError)) throw error;
        if ((await tipOf(branch, signal)) === parents[0]) throw error;
        return "moved";
      }
    },

    /** Rejects if commits can't be made here. */
    async check(signal: AbortSignal): Promise<void> {
      await api.query({ doing: "Looking for GraphQL", signal, schema: Found }, REPOSITORY, { owner, repo });
    },

    /**
     * Makes a branch, if `before` is null, or moves it. Resolves to false if somebody else was
     * faster.
     */
    async point(branch: string, to: string, before: string | null, signal: AbortSignal): Promise<boolean> {
      const name = `refs/heads/${branch}`;
      try {
        if (before === null) {
          const asked = { doing: "Making the branch", signal, schema: Ref };
          await api.ask(asked, `POST ${REFS}/refs`, { ref: name, sha: to });
          return true;
        }
        // REST has no such condition.
        const which = { doing: "Looking for the repository's id", signal, schema: Found };
        const { data } = await api.query(which, REPOSITORY, { owner, repo });
        const refUpdates = [{ name, beforeOid: before, afterOid: to, force: true }];
        const input = { repositoryId: data.repository.id, refUpdates };
        await api.query({ doing: "Moving the branch", signal, schema: Moved }, MOVE, { input });
        return true;
      } catch (error) {
        if (!(error instanceof RefusedByCodeHostError)) throw error;
        if ((await tipOf(branch, signal)) === before) throw error;
        return false;
      }
    },

    /**
     * Adds a commit to the branch. Resolves to its id, or to null if the branch doesn't end with
     * its parent.
     */
    async commit(wanted: HostedCommit, signal: AbortSignal): Promise<string | null> {
      const { branch, parent, additions, deletions } = wanted;
      const [headline = "", ...body] = wanted.message.split("\n");
      const input = {
        branch: { repositoryNameWithOwner: `${owner}/${repo}`, branchName: branch },
        expectedHeadOid: parent,
        message: { headline, body: body.join("\n").trim() },
        fileChanges: {
          additions: additions.map(({ path, contents }) => ({
            path,
            contents: Buffer.from(contents).toString("base64"),
          })),
          deletions: deletions.map((path) => ({ path })),
        },
      };
      for (let tries = 1; ; tries += 1) {
        try {
          const asked = { doing: "Making the commit", signal, schema: Made };
          return (await api.query(asked, COMMIT, { input })).data.createCommitOnBranch.commit.oid;
        } catch (error) {
          if (!(error instanceof RefusedByCodeHostError)) throw error;
          const { said, message, details } = error;
          if (BROKEN.test(said)) throw new TransientRunError(message, { cause: error, details });
          if (!ELSEWHERE.test(said)) throw error;
          if ((await tipOf(branch, signal)) !== parent || tries >= TRIES) return null;
        }
        await pause(clock, tries * TRY_AGAIN_MS, signal);
      }
    },
  };
}
