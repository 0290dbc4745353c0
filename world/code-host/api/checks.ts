import type { Context, Hono } from "hono";
import type { z } from "zod";
import { addStatus, saveCheckRun } from "../checks.ts";
import type { Host } from "../host.ts";
import type { PullRequests } from "../pull-requests.ts";
import { type Annotation, type CommitCheck, type CommitStatus, latestBy } from "../commit-records.ts";
import type { Repository } from "../repository.ts";
import { ChangeCheckRun, type CheckOutput, CreateCheckRun, CreateStatus, readBody } from "./bodies.ts";
import type { ApiEnv } from "./env.ts";
import { ApiRefusal, notFound } from "./errors.ts";
import { pageOf } from "./paging.ts";
import { loginOf } from "./pulls.ts";
import { mustFind, shaOf } from "./repos.ts";
import { type Links, repositoryShape, userShape } from "./shapes.ts";

const REPOSITORY = "/repos/:owner/:repo";

/**
 * Adds the routes for check runs and commit statuses (docs.github.com/rest/checks/runs,
 * /rest/commits/statuses).
 */
export function addCheckRoutes(api: Hono<ApiEnv>, host: Host): void {
  api.post(`${REPOSITORY}/check-runs`, async (context) => {
    mayWriteChecks(context);
    const pullRequests = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    const { head_sha: headSha, name, ...rest } = await readBody(context, CreateCheckRun);
    const run = await saveCheckRun(
      host,
      pullRequests,
      { headSha, name, ...fieldsOf(rest) },
      loginOf(context),
    );
    return context.json(checkRunShape(run, pullRequests.repository, host.links()), 201);
  });

  api.patch(`${REPOSITORY}/check-runs/:id`, async (context) => {
    mayWriteChecks(context);
    const pullRequests = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    const known = pullRequests.records.checkRun(Number(context.req.param("id")));
    if (known === undefined) throw notFound();
    const change = fieldsOf(await readBody(context, ChangeCheckRun), known.annotations);
    // A run that is in progress again has no conclusion anymore.
    const before =
      change.status === undefined || change.status === "completed" ? known : { ...known, conclusion: null };
    const run = await saveCheckRun(host, pullRequests, { ...before, ...change }, loginOf(context));
    return context.json(checkRunShape(run, pullRequests.repository, host.links()));
  });

  api.get(`${REPOSITORY}/check-runs/:id/annotations`, (context) => {
    mayReadChecks(context);
    const { records, repository } = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    const run = records.checkRun(Number(context.req.param("id")));
    if (run === undefined) throw notFound();
    const page = pageOf(context, run.annotations, host.links().apiUrl);
    return context.json(page.map((each) => annotationShape(each, run.headSha, repository, host.links())));
  });

  api.get(`${REPOSITORY}/commits/:ref/check-runs`, async (context) => {
    mayReadChecks(context);
    const { pullRequests, sha } = await commitOf(context, host);
    const runs = pullRequests.records.checkRuns(sha);
    const latest = context.req.query("filter") === "all" ? runs : latestBy(runs, ({ name }) => name);
    const asked = context.req.query("check_name");
    const found = latest.toReversed().filter(({ name }) => asked === undefined || name === asked);
    const page = pageOf(context, found, host.links().apiUrl);
    return context.json({
      total_count: found.length,
      check_runs: page.map((run) => checkRunShape(run, pullRequests.repository, host.links())),
    });
  });

  api.post(`${REPOSITORY}/statuses/:sha`, async (context) => {
    const pullRequests = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    const {
      state,
      context: name,
      description,
      target_url: targetUrl,
    } = await readBody(context, CreateStatus);
    const status = await addStatus(host, pullRequests, {
      sha: context.req.param("sha"),
      context: name,
      state,
      description: description ?? null,
      targetUrl: targetUrl ?? null,
      creator: loginOf(context),
    });
    return context.json(statusShape(status, pullRequests.repository, host.links()), 201);
  });

  api.get(`${REPOSITORY}/commits/:ref/statuses`, async (context) => {
    const { pullRequests, sha } = await commitOf(context, host);
    const page = pageOf(context, pullRequests.records.statuses(sha).toReversed(), host.links().apiUrl);
    return context.json(page.map((status) => statusShape(status, pullRequests.repository, host.links())));
  });

  api.get(`${REPOSITORY}/commits/:ref/status`, async (context) => {
    const { pullRequests, sha } = await commitOf(context, host);
    const { repository } = pullRequests;
    const latest = latestBy(pullRequests.records.statuses(sha), (status) => status.context);
    const page = pageOf(context, latest, host.links().apiUrl);
    return context.json({
      state: combined(latest),
      statuses: page.map((status) => statusShape(status, repository, host.links())),
      sha,
      total_count: latest.length,
      repository: repositoryShape(
        repository,
        await repository.defaultBranch(),
        context.get("canPush"),
        host.links(),
      ),
      commit_url: `${host.links().apiUrl}/repos/${repository.fullName}/commits/${sha}`,
      url: `${host.links().apiUrl}/repos/${repository.fullName}/commits/${sha}/status`,
    });
  });
}

function kindOf(context: Context<ApiEnv>): string {
  const caller = context.get("caller");
  return typeof caller === "string" ? caller : caller.kind;
}

function mayReadChecks(context: Context<ApiEnv>): void {
  if (kindOf(context) === "fine-grained") {
    throw new ApiRefusal(403, "Resource not accessible by personal access token");
  }
}

function mayWriteChecks(context: Context<ApiEnv>): void {
  if (kindOf(context) !== "installation")
    throw new ApiRefusal(403, "You must authenticate via a GitHub App.");
}

async function commitOf(
  context: Context<ApiEnv>,
  host: Host,
): Promise<{ pullRequests: PullRequests; sha: string }> {
  const pullRequests = mustFind(host, context.req.param("owner") ?? "", context.req.param("repo") ?? "");
  const ref = context.req.param("ref") ?? "";
  const sha = await shaOf(pullRequests.repository, ref);
  if (sha === null) throw new ApiRefusal(422, `No commit found for SHA: ${ref}`);
  return { pullRequests, sha };
}

function combined(latest: readonly CommitStatus[]): "failure" | "pending" | "success" {
  if (latest.some(({ state }) => state === "failure" || state === "error")) return "failure";
  return latest.length === 0 || latest.some(({ state }) => state === "pending") ? "pending" : "success";
}

function fieldsOf(
  body: z.infer<typeof ChangeCheckRun>,
  known: readonly Annotation[] = [],
): Partial<CommitCheck> {
  const { status, conclusion, details_url: detailsUrl, output } = body;
  return {
    ...(status === undefined ? {} : { status }),
    ...(conclusion === undefined ? {} : { conclusion }),
    ...(detailsUrl === undefined ? {} : { detailsUrl }),
    ...(output === undefined
      ? {}
      : {
          title: output.title ?? null,
          summary: output.summary,
          text: output.text ?? null,
          // An update adds to the annotations that are there.
          annotations: [...known, ...output.annotations.map(annotationOf)],
        }),
  };
}

function annotationOf(given: CheckOutput["annotations"][number]): Annotation {
  return {
    path: given.path,
    startLine: given.start_line,
    endLine: given.end_line,
    level: given.annotation_level,
    message: given.message,
    title: given.title ?? null,
    rawDetails: given.raw_details ?? null,
  };
}

function annotationShape(annotation: Annotation, headSha: string, { fullName }: Repository, links: Links) {
  const path = annotation.path.split("/").map(encodeURIComponent).join("/");
  return {
    path: annotation.path,
    blob_href: `${links.url}/${fullName}/blob/${headSha}/${path}`,
    start_line: annotation.startLine,
    start_column: null,
    end_line: annotation.endLine,
    end_column: null,
    annotation_level: annotation.level,
    title: annotation.title,
    message: annotation.message,
    raw_details: annotation.rawDetails,
  };
}

function checkRunShape(run: CommitCheck, { fullName }: Repository, links: Links) {
  const url = `${links.apiUrl}/repos/${fullName}/check-runs/${run.id}`;
  return {
    id: run.id,
    node_id: `CR_${run.id}`,
    head_sha: run.headSha,
    name: run.name,
    external_id: "",
    url,
    html_url: `${links.url}/${fullName}/runs/${run.id}`,
    details_url: run.detailsUrl,
    status: run.status,
    conclusion: run.conclusion,
    started_at: run.startedAt,
    completed_at: run.completedAt,
    output: {
      title: run.title,
      summary: run.summary,
      text: run.text,
      annotations_count: run.annotations.length,
      annotations_url: `${url}/annotations`,
    },
    check_suite: { id: 1 },
    app: { id: 1, slug: "checks", name: "Checks" },
    pull_requests: [],
  };
}

function statusShape(status: CommitStatus, { fullName }: Repository, links: Links) {
  return {
    url: `${links.apiUrl}/repos/${fullName}/statuses/${status.sha}`,
    id: status.id,
    node_id: `SC_${status.id}`,
    state: status.state,
    description: status.description,
    target_url: status.targetUrl,
    context: status.context,
    created_at: status.createdAt,
    updated_at: status.createdAt,
    creator: userShape(status.creator, "User", links),
  };
}
