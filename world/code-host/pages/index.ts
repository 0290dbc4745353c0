import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Hono } from "hono";
import type { Host } from "../host.ts";
import type { PullRequests } from "../pull-requests.ts";
import { addActionRoutes } from "./actions.ts";
import { draw, pullRequestAt, noSuchPage, peopleFormOf, rulesFormOf } from "./drawing.ts";
import { repositoryPage } from "./repository.ts";
import { rulesPage } from "./rules.ts";
import { FormTokens, securityHeaders } from "./security.ts";

/** Makes the pages. They are drawn on the server and need no script. */
export function createPages(host: Host): Hono {
  const pages = new Hono();
  const formTokens = new FormTokens();
  pages.use(securityHeaders());
  addAssets(pages);
  addReadingRoutes(pages, host, formTokens);
  addActionRoutes(pages, host, formTokens);
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

  pages.get("/:owner/:repo/rules", async (context) => {
    const pullRequests = host.find(context.req.param("owner"), context.req.param("repo"));
    if (!pullRequests) return noSuchPage(context);
    const { repository, records } = pullRequests;
    const branch = await repository.defaultBranch();
    return context.html(
      rulesPage({
        fullName: repository.fullName,
        branch,
        protection: records.protection(branch),
        token: formTokens.issue(rulesFormOf(repository)),
        isSaved: context.req.query("saved") !== undefined,
        home: host.links().home,
        people: { roles: host.rules.roles, token: formTokens.issue(peopleFormOf(repository)) },
      }),
    );
  });

  pages.get("/:owner/:repo/runs/:id{[0-9]+}", async (context) => {
    const pullRequests = host.find(context.req.param("owner"), context.req.param("repo"));
    const run = pullRequests?.records.checkRun(Number(context.req.param("id")));
    if (pullRequests === undefined || run === undefined) return noSuchPage(context);
    const number = await pullRequestOf(pullRequests, run.headSha);
    if (number === null) return noSuchPage(context);
    return context.redirect(`/${pullRequests.repository.fullName}/pull/${number}#checks`, 303);
  });

  pages.get("/:owner/:repo/pull/:number{[0-9]+}", async (context) => {
    const found = pullRequestAt(context, host);
    if (!found) return noSuchPage(context);
    return context.html(await draw(host, found.pullRequests, found.pullRequest.number, formTokens));
  });
}

/** Resolves to the number of the newest pull request with this commit. Null if there is none. */
async function pullRequestOf(pullRequests: PullRequests, sha: string): Promise<number | null> {
  for (const pullRequest of pullRequests.all().toReversed()) {
    const ends = await pullRequests.commits(pullRequest);
    if (ends === null) continue;
    const commits = await pullRequests.repository.commitsBetween(ends.mergeBase, ends.head);
    if (commits.some((commit) => commit.sha === sha)) return pullRequest.number;
  }
  return null;
}
