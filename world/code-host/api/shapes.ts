import { createHash } from "node:crypto";
import type { ChangedFile } from "../changed-files.ts";
import type { PullRequest } from "../pull-request-store.ts";
import type { Commits } from "../pull-requests.ts";
import type { Protection } from "../commit-records.ts";
import type { Branch, Repository } from "../repository.ts";

/** The addresses for the answers' links. */
export type Links = { url: string; apiUrl: string };

/** Returns a number that is always the same for the same thing, like GitHub's ids. */
export function idOf(...parts: (string | number)[]): number {
  return createHash("sha256").update(parts.join("\n")).digest().readUIntBE(0, 4);
}

/** Returns an account. The name of an App's account ends with `[bot]`. */
export function userShape(login: string, type: "User" | "Organization", { url, apiUrl }: Links) {
  return {
    login,
    id: idOf("user", login),
    node_id: `U_${idOf("user", login)}`,
    avatar_url: "",
    gravatar_id: "",
    url: `${apiUrl}/users/${login}`,
    html_url: url,
    type: login.endsWith("[bot]") ? "Bot" : type,
    site_admin: false,
  };
}

export function repositoryShape(
  repository: Repository,
  defaultBranch: string,
  canPush: boolean,
  links: Links,
) {
  const { owner, name, fullName } = repository;
  const html = `${links.url}/${fullName}`;
  return {
    id: idOf("repository", fullName),
    node_id: `R_${idOf("repository", fullName)}`,
    name,
    full_name: fullName,
    owner: userShape(owner, "Organization", links),
    private: false,
    html_url: html,
    description: null,
    fork: false,
    url: `${links.apiUrl}/repos/${fullName}`,
    clone_url: `${html}.git`,
    git_url: `${html}.git`,
    default_branch: defaultBranch,
    archived: false,
    disabled: false,
    visibility: "public",
    allow_merge_commit: true,
    allow_squash_merge: true,
    allow_rebase_merge: true,
    permissions: { admin: false, maintain: false, push: canPush, triage: canPush, pull: true },
  };
}

export type PullRequestParts = {
  repository: Repository;
  defaultBranch: string;
  pullRequest: PullRequest;
  /** The commits, or null if its branches are gone. */
  commits: Commits | null;
  canPush: boolean;
};

export function pullRequestShape(parts: PullRequestParts, links: Links) {
  const { repository, pullRequest, commits, defaultBranch, canPush } = parts;
  const { number } = pullRequest;
  const url = `${links.apiUrl}/repos/${repository.fullName}/pulls/${number}`;
  const html = `${links.url}/${repository.fullName}/pull/${number}`;
  const owner = userShape(repository.owner, "Organization", links);
  const side = (ref: string, sha: string | undefined) => ({
    label: `${repository.owner}:${ref}`,
    ref,
    sha: sha ?? "",
    user: owner,
    repo: repositoryShape(repository, defaultBranch, canPush, links),
  });
  const own = side(pullRequest.head, commits?.head);
  const [forkOwner = "", forkName = ""] = pullRequest.fork?.split("/") ?? [];
  const head =
    pullRequest.fork === null
      ? own
      : {
          ...own,
          label: `${forkOwner}:${pullRequest.head}`,
          user: userShape(forkOwner, "User", links),
          repo: { ...own.repo, name: forkName, full_name: pullRequest.fork, fork: true },
        };
  return {
    url,
    id: idOf("pull", repository.fullName, number),
    node_id: nodeIdOf(repository, number),
    html_url: html,
    diff_url: `${html}.diff`,
    commits_url: `${url}/commits`,
    number,
    state: pullRequest.state,
    locked: false,
    title: pullRequest.title,
    user: userShape(pullRequest.author, "User", links),
    body: pullRequest.body,
    created_at: pullRequest.createdAt,
    updated_at: pullRequest.updatedAt,
    closed_at: pullRequest.closedAt,
    merged_at: pullRequest.mergedAt,
    merge_commit_sha: pullRequest.mergeCommitSha,
    assignee: null,
    assignees: pullRequest.assignees.map((login) => userShape(login, "User", links)),
    requested_reviewers: pullRequest.reviewers
      .filter((name) => !name.includes("/"))
      .map((login) => userShape(login, "User", links)),
    requested_teams: pullRequest.reviewers
      .filter((name) => name.includes("/"))
      .map((name) => ({ slug: name.split("/")[1] })),
    labels: pullRequest.labels.map((name) => ({ id: idOf("label", name), name })),
    milestone: null,
    draft: pullRequest.isDraft,
    head,
    base: side(pullRequest.base, commits?.base),
    author_association: "CONTRIBUTOR",
    auto_merge: null,
  };
}

/** Returns a pull request's id in the GraphQL API. */
export function nodeIdOf(repository: Repository, number: number): string {
  return `PR_${idOf("pull", repository.fullName, number)}`;
}

/** Returns a repository's id there. */
export function repositoryNodeIdOf(repository: Repository): string {
  return `R_${idOf("repository", repository.fullName)}`;
}

export function fileShape(file: ChangedFile, repository: Repository, head: string, links: Links) {
  const path = file.filename.split("/").map(encodeURIComponent).join("/");
  const html = `${links.url}/${repository.fullName}`;
  return {
    sha: file.sha,
    filename: file.filename,
    status: file.status,
    additions: file.additions,
    deletions: file.deletions,
    changes: file.additions + file.deletions,
    blob_url: `${html}/blob/${head}/${path}`,
    raw_url: `${html}/blob/${head}/${path}`,
    contents_url: `${links.apiUrl}/repos/${repository.fullName}/contents/${path}?ref=${head}`,
    ...(file.patch === null ? {} : { patch: file.patch }),
    ...(file.previousFilename === null ? {} : { previous_filename: file.previousFilename }),
  };
}

/**
 * Returns a branch. Everybody who may read it may see the checks that its rules require
 * (docs.github.com/rest/branches).
 */
export function branchShape(
  { name, sha }: Branch,
  protection: Protection | null,
  repository: Repository,
  links: Links,
) {
  const path = name.split("/").map(encodeURIComponent).join("/");
  const url = `${links.apiUrl}/repos/${repository.fullName}`;
  return {
    name,
    commit: { sha, url: `${url}/commits/${sha}` },
    protected: protection !== null,
    protection: {
      enabled: protection !== null,
      required_status_checks: {
        enforcement_level: protection === null ? "off" : "everyone",
        contexts: protection?.requiredChecks ?? [],
        checks: (protection?.requiredChecks ?? []).map((check) => ({ context: check, app_id: null })),
      },
    },
    protection_url: `${url}/branches/${path}/protection`,
    _links: { self: `${url}/branches/${path}`, html: `${links.url}/${repository.fullName}/tree/${path}` },
  };
}

export function refShape(name: string, sha: string, repository: Repository, links: Links) {
  const url = `${links.apiUrl}/repos/${repository.fullName}/git`;
  return {
    ref: `refs/heads/${name}`,
    node_id: `REF_${idOf("ref", repository.fullName, name)}`,
    url: `${url}/refs/heads/${name}`,
    object: { sha, type: "commit", url: `${url}/commits/${sha}` },
  };
}
