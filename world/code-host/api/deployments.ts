import type { Context, Hono } from "hono";
import type { Deployment, DeploymentStatus } from "../commit-records.ts";
import { addDeployment, addDeploymentStatus } from "../deployments.ts";
import type { Host } from "../host.ts";
import type { Repository } from "../repository.ts";
import { CreateDeployment, CreateDeploymentStatus, readBody } from "./bodies.ts";
import type { ApiEnv } from "./env.ts";
import { ApiRefusal, notFound } from "./errors.ts";
import { pageOf } from "./paging.ts";
import { loginOf } from "./pulls.ts";
import { mustFind, shaOf } from "./repos.ts";
import { type Links, userShape } from "./shapes.ts";

const DEPLOYMENTS = "/repos/:owner/:repo/deployments";
const STATUSES = `${DEPLOYMENTS}/:id{[0-9]+}/statuses`;

/**
 * Adds the routes for deployments and their statuses, newest first
 * (docs.github.com/rest/deployments/deployments, /rest/deployments/statuses). `auto_merge` and
 * `required_contexts` aren't covered, so nothing prevents a new deployment.
 */
export function addDeploymentRoutes(api: Hono<ApiEnv>, host: Host): void {
  api.get(DEPLOYMENTS, (context) => {
    const { records, repository } = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    const found = records.deployments().filter((deployment) =>
      (["sha", "ref", "task", "environment"] as const).every((name) => {
        const asked = context.req.query(name) ?? "";
        return asked === "" || asked === deployment[name];
      }),
    );
    const page = pageOf(context, found.toReversed(), host.links().apiUrl);
    return context.json(page.map((deployment) => deploymentShape(deployment, repository, host.links())));
  });

  api.post(DEPLOYMENTS, async (context) => {
    const pullRequests = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    const body = await readBody(context, CreateDeployment);
    const sha = await shaOf(pullRequests.repository, body.ref);
    if (sha === null) throw new ApiRefusal(422, `No ref found for: ${body.ref}`);
    const deployment = await addDeployment(host, pullRequests, {
      sha,
      ref: body.ref,
      task: body.task,
      environment: body.environment,
      description: body.description ?? null,
      isTransient: body.transient_environment,
      isProduction: body.production_environment ?? body.environment === "production",
      creator: loginOf(context),
    });
    return context.json(deploymentShape(deployment, pullRequests.repository, host.links()), 201);
  });

  api.get(`${DEPLOYMENTS}/:id{[0-9]+}`, (context) => {
    const { pullRequests, deployment } = deploymentAt(context, host);
    return context.json(deploymentShape(deployment, pullRequests.repository, host.links()));
  });

  api.get(STATUSES, (context) => {
    const { pullRequests, deployment } = deploymentAt(context, host);
    const page = pageOf(context, deployment.statuses.toReversed(), host.links().apiUrl);
    return context.json(
      page.map((status) => deploymentStatusShape(deployment, status, pullRequests.repository, host.links())),
    );
  });

  api.post(STATUSES, async (context) => {
    const { pullRequests, deployment } = deploymentAt(context, host);
    const body = await readBody(context, CreateDeploymentStatus);
    const status = await addDeploymentStatus(host, pullRequests, deployment, {
      state: body.state,
      description: body.description,
      environment: body.environment ?? deployment.statuses.at(-1)?.environment ?? deployment.environment,
      environmentUrl: body.environment_url,
      logUrl: body.log_url === "" ? body.target_url : body.log_url,
      creator: loginOf(context),
      endsOthers: body.auto_inactive,
    });
    return context.json(
      deploymentStatusShape(deployment, status, pullRequests.repository, host.links()),
      201,
    );
  });
}

function deploymentAt(context: Context<ApiEnv>, host: Host) {
  const pullRequests = mustFind(host, context.req.param("owner") ?? "", context.req.param("repo") ?? "");
  const id = Number(context.req.param("id"));
  const deployment = pullRequests.records.deployments().find((known) => known.id === id);
  if (deployment === undefined) throw notFound();
  return { pullRequests, deployment };
}

export function deploymentShape(
  deployment: Deployment,
  { fullName }: Repository,
  { url: web, apiUrl }: Links,
) {
  const url = `${apiUrl}/repos/${fullName}/deployments/${deployment.id}`;
  return {
    url,
    id: deployment.id,
    node_id: `DE_${deployment.id}`,
    sha: deployment.sha,
    ref: deployment.ref,
    task: deployment.task,
    payload: {},
    original_environment: deployment.environment,
    environment: deployment.statuses.at(-1)?.environment ?? deployment.environment,
    description: deployment.description,
    creator: userShape(deployment.creator, "User", { url: web, apiUrl }),
    created_at: deployment.createdAt,
    updated_at: deployment.statuses.at(-1)?.createdAt ?? deployment.createdAt,
    statuses_url: `${url}/statuses`,
    repository_url: `${apiUrl}/repos/${fullName}`,
    transient_environment: deployment.isTransient,
    production_environment: deployment.isProduction,
  };
}

export function deploymentStatusShape(
  deployment: Deployment,
  status: DeploymentStatus,
  { fullName }: Repository,
  { url: web, apiUrl }: Links,
) {
  const deploymentUrl = `${apiUrl}/repos/${fullName}/deployments/${deployment.id}`;
  return {
    url: `${deploymentUrl}/statuses/${status.id}`,
    id: status.id,
    node_id: `DES_${status.id}`,
    state: status.state,
    creator: userShape(status.creator, "User", { url: web, apiUrl }),
    description: status.description,
    environment: status.environment,
    target_url: status.logUrl,
    created_at: status.createdAt,
    updated_at: status.createdAt,
    deployment_url: deploymentUrl,
    repository_url: `${apiUrl}/repos/${fullName}`,
    environment_url: status.environmentUrl,
    log_url: status.logUrl,
  };
}
