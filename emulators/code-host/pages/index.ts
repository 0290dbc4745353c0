import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { changedFiles } from "../changed-files.ts";
import type { Host } from "../host.ts";
import type { PullRequest } from "../pull-request-store.ts";
import type { PullRequests } from "../pull-requests.ts";
import type { Repository } from "../repository.ts";
import { pullRequestPage } from "./pull-request.ts";
import { branchPage, commitPage, filePage, frontPage, messagePage, pullRequestsPage } from "./repository.ts";
import { FormTokens, isSameOrigin, securityHeaders } from "./security.ts";

const HISTORY = 30;

/** The pages, drawn on the server; they need no script. */
export function createPages(host: Host): Hono {
  const pages = new Hono();
  const formTokens = new FormTokens();
  pages.use(securityHeaders());
  addAssets(pages);
  addReadingRoutes(pages, host, formTokens);
  for (const action of ["merge", "close"] as const) {
    pages.post(
      `/:owner/:repo/pull/:number{[0-9]+}/${action}`,
      bodyLimit({ maxSize: 4096 }),
      async (context) => {
        const found = named(context, host);
        if (!found) return noSuchPage(context);
        const { pullRequests, pullRequest } = found;
        const { token } = await context.req.parseBody();
        const form = formOf(pullRequests.repository, pullRequest, action);
        const ownOrigin = new URL(context.req.url).origin;
        if (!isSameOrigin(context.req.raw.headers, ownOrigin) || !formTokens.isValid(form, token)) {
          const text =
            "The form is out of date, or it was not this page that sent it. Go back, reload, and try again.";
          return context.html(messagePage("Not done", text), 403);
        }
        const problem = await act(pullRequests, pullRequest, action);
        const path = `/${pullRequests.repository.fullName}/pull/${pullRequest.number}`;
        if (problem === null) return context.redirect(path, 303);
        return context.html(
          await drawPullRequest(pullRequests, pullRequest.number, formTokens, problem),
          409,
        );
      },
    );
  }
  pages.all("*", noSuchPage);
  return pages;
}

function addAssets(pages: Hono): void {
  const files = {
    "diff2html.css": fileURLToPath(import.meta.resolve("diff2html/bundles/css/diff2html.min.css")),
    "pages.css": fileURLToPath(new URL("./pages.css", import.meta.url)),
  };
  for (const [name, file] of Object.entries(files)) {
    const text = readFileSync(file, "utf8");
    pages.get(`/assets/${name}`, (context) =>
      context.body(text, 200, { "content-type": "text/css; charset=utf-8", "cache-control": "max-age=300" }),
    );
  }
}

function addReadingRoutes(pages: Hono, host: Host, formTokens: FormTokens): void {
  pages.get("/", (context) => {
    const all = host.all().map((pullRequests) => ({
      repository: pullRequests.repository,
      openCount: openCountOf(pullRequests),
    }));
    return context.html(frontPage(all));
  });

  pages.get("/:owner/:repo", async (context) => {
    const pullRequests = host.find(context.req.param("owner"), context.req.param("repo"));
    if (!pullRequests) return noSuchPage(context);
    return drawBranch(context, host, pullRequests, await pullRequests.repository.defaultBranch());
  });

  pages.get("/:owner/:repo/tree/:branch{.+}", async (context) => {
    const pullRequests = host.find(context.req.param("owner"), context.req.param("repo"));
    if (!pullRequests) return noSuchPage(context);
    return drawBranch(context, host, pullRequests, context.req.param("branch"));
  });

  pages.get("/:owner/:repo/blob/:rest{.+}", async (context) => {
    const found = host.find(context.req.param("owner"), context.req.param("repo"));
    const at = found && (await revisionAndPath(found.repository, context.req.param("rest")));
    const text = at && (await found.repository.fileText(at.sha, at.path));
    if (!found || !at || typeof text !== "string") return noSuchPage(context);
    return context.html(filePage(found.repository, at.revision, at.path, text));
  });

  pages.get("/:owner/:repo/commit/:sha{[0-9a-f]{40}}", async (context) => {
    const repository = host.find(context.req.param("owner"), context.req.param("repo"))?.repository;
    const sha = await repository?.commitSha(context.req.param("sha"));
    if (!repository || typeof sha !== "string") return noSuchPage(context);
    const [commit] = await repository.history(sha, 1);
    if (!commit) return noSuchPage(context);
    const parent = await repository.parentOf(sha);
    const [files, diff] = await Promise.all([
      changedFiles(repository, parent, sha),
      repository.diff(parent, sha),
    ]);
    return context.html(commitPage(repository, commit, files, diff));
  });

  pages.get("/:owner/:repo/pulls", (context) => {
    const pullRequests = host.find(context.req.param("owner"), context.req.param("repo"));
    if (!pullRequests) return noSuchPage(context);
    return context.html(pullRequestsPage(pullRequests.repository, pullRequests.all()));
  });

  pages.get("/:owner/:repo/pull/:number{[0-9]+}", async (context) => {
    const found = named(context, host);
    if (!found) return noSuchPage(context);
    return context.html(await drawPullRequest(found.pullRequests, found.pullRequest.number, formTokens));
  });
}

async function drawBranch(context: Context, host: Host, pullRequests: PullRequests, branch: string) {
  const { repository } = pullRequests;
  const sha = await repository.branchSha(branch);
  if (sha === null) return noSuchPage(context);
  const [branches, files, commits] = await Promise.all([
    repository.branches(),
    repository.tree(sha),
    repository.history(sha, HISTORY),
  ]);
  const gitUrl = `${host.links().url}/${repository.fullName}.git`;
  const openCount = openCountOf(pullRequests);
  return context.html(branchPage({ repository, branch, branches, files, commits, openCount, gitUrl }));
}

async function drawPullRequest(
  pullRequests: PullRequests,
  number: number,
  formTokens: FormTokens,
  problem?: string,
) {
  const { repository } = pullRequests;
  const pullRequest = pullRequests.find(number);
  if (!pullRequest) return messagePage("No such page", "There is nothing at this address.");
  const ends = await pullRequests.commits(pullRequest);
  const isOpen = pullRequest.state === "open";
  const [commits, files, diff, conflicts] =
    ends === null
      ? [[], [], "", []]
      : await Promise.all([
          repository.commitsBetween(ends.mergeBase, ends.head),
          changedFiles(repository, ends.mergeBase, ends.head),
          repository.diff(ends.mergeBase, ends.head),
          isOpen ? pullRequests.conflicts(ends) : [],
        ]);
  return pullRequestPage({
    repository,
    pullRequest,
    commits,
    files,
    diff,
    conflicts,
    problem,
    tokens: {
      merge: formTokens.issue(formOf(repository, pullRequest, "merge")),
      close: formTokens.issue(formOf(repository, pullRequest, "close")),
    },
  });
}

/** Does what a button says; resolves to what to tell the person when it could not be done. */
async function act(
  pullRequests: PullRequests,
  { number, base }: PullRequest,
  action: "merge" | "close",
): Promise<string | null> {
  if (action === "close") {
    await pullRequests.change(number, { state: "closed" });
    return null;
  }
  const merged = await pullRequests.merge(number, { method: "merge" });
  if (merged.ok) return null;
  switch (merged.refusal.kind) {
    case "conflict":
      return `Not merged: it conflicts with ${base} in ${merged.refusal.paths.join(", ")}.`;
    case "not-open":
      return "Not merged: it is no longer open, or its branch is gone.";
    default:
      return `Not merged: ${base} was changed at the same moment. Try again.`;
  }
}

/** `branch/with/slashes/then/path`, or a commit's id first; the longest branch that exists wins. */
async function revisionAndPath(repository: Repository, rest: string) {
  const names = (await repository.branches()).toSorted((one, other) => other.name.length - one.name.length);
  const branch = names.find(({ name }) => rest.startsWith(`${name}/`));
  if (branch) return { revision: branch.name, sha: branch.sha, path: rest.slice(branch.name.length + 1) };
  const sha = await repository.commitSha(rest.slice(0, 40));
  return sha !== null && rest.charAt(40) === "/" ? { revision: sha, sha, path: rest.slice(41) } : null;
}

function named(context: Context, host: Host) {
  const pullRequests = host.find(context.req.param("owner") ?? "", context.req.param("repo") ?? "");
  const pullRequest = pullRequests?.find(Number(context.req.param("number")));
  return pullRequests && pullRequest ? { pullRequests, pullRequest } : null;
}

function formOf(repository: Repository, { number }: PullRequest, action: "merge" | "close"): string {
  return `${repository.fullName}#${number} ${action}`;
}

function openCountOf(pullRequests: PullRequests): number {
  return pullRequests.all().filter(({ state }) => state === "open").length;
}

function noSuchPage(context: Context) {
  return context.html(messagePage("No such page", "There is nothing at this address."), 404);
}
