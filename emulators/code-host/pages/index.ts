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
import { messagePage, repositoryPage } from "./repository.ts";
import { FormTokens, isSameOrigin, securityHeaders } from "./security.ts";

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
          await drawPullRequest(host, pullRequests, pullRequest.number, formTokens, problem),
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
  pages.get("/:owner/:repo", async (context) => {
    const pullRequests = host.find(context.req.param("owner"), context.req.param("repo"));
    if (!pullRequests) return noSuchPage(context);
    const { repository } = pullRequests;
    const branch = await repository.defaultBranch();
    return context.html(
      repositoryPage({
        repository,
        branch,
        files: await repository.files(branch),
        pullRequests: pullRequests.all(),
        gitUrl: `${host.links().url}/${repository.fullName}.git`,
        home: host.links().home,
      }),
    );
  });

  pages.get("/:owner/:repo/pull/:number{[0-9]+}", async (context) => {
    const found = named(context, host);
    if (!found) return noSuchPage(context);
    return context.html(
      await drawPullRequest(host, found.pullRequests, found.pullRequest.number, formTokens),
    );
  });
}

async function drawPullRequest(
  host: Host,
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
    home: host.links().home,
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

function named(context: Context, host: Host) {
  const pullRequests = host.find(context.req.param("owner") ?? "", context.req.param("repo") ?? "");
  const pullRequest = pullRequests?.find(Number(context.req.param("number")));
  return pullRequests && pullRequest ? { pullRequests, pullRequest } : null;
}

function formOf(repository: Repository, { number }: PullRequest, action: "merge" | "close"): string {
  return `${repository.fullName}#${number} ${action}`;
}

function noSuchPage(context: Context) {
  return context.html(messagePage("No such page", "There is nothing at this address."), 404);
}
