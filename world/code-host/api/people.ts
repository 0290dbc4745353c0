import type { Hono } from "hono";
import type { Host } from "../host.ts";
import { AddAssignees, AddLabels, AskReviewers, readBody } from "./bodies.ts";
import type { ApiEnv } from "./env.ts";
import { isCollaborator, mayPush, permissionFor, roleOf } from "../permissions.ts";
import { ApiRefusal, notFound } from "./errors.ts";
import { full, loginOf, named, UNKNOWN } from "./pulls.ts";
import { mustFind } from "./repos.ts";
import { userShape } from "./shapes.ts";

const REPOSITORY = "/repos/:owner/:repo";

/**
 * Adds the routes for accounts and their permissions, and for the labels, assignees and reviewers
 * of pull requests.
 */
export function addPeopleRoutes(api: Hono<ApiEnv>, host: Host): void {
  // An installation has no user of its own (docs.github.com/rest/users/users).
  api.get("/user", (context) => {
    const caller = context.get("caller");
    if (caller === "nobody") throw new ApiRefusal(401, "Requires authentication");
    if (caller.kind === "installation") throw new ApiRefusal(403, "Resource not accessible by integration");
    return context.json(userShape(caller.login, "User", host.links()));
  });

  api.get("/users/:login", (context) => {
    const login = context.req.param("login");
    if (host.rules.goneAccounts.has(login)) throw notFound();
    return context.json(userShape(login, "User", host.links()));
  });

  // An App needs no more than "metadata: read" (docs.github.com/rest/collaborators/collaborators).
  // The words "dependabot[bot] is not a user" and "Must have push access …" are those that people
  // quote.
  api.get(`${REPOSITORY}/collaborators/:login/permission`, (context) => {
    const login = context.req.param("login");
    const { repository } = mustFind(host, context.req.param("owner"), context.req.param("repo"));
    const caller = context.get("caller");
    if (caller === "nobody") throw new ApiRefusal(401, "Requires authentication");
    const own = roleOf(host.rules, caller.login, repository.fullName);
    if (caller.kind !== "installation" && !mayPush(own)) {
      throw new ApiRefusal(403, "Must have push access to view collaborator permission.");
    }
    if (login.endsWith("[bot]")) throw new ApiRefusal(404, `${login} is not a user`);
    if (host.rules.goneAccounts.has(login)) throw notFound();
    const role = roleOf(host.rules, login, repository.fullName);
    return context.json({
      permission: permissionFor(role),
      role_name: role,
      user: { ...userShape(login, "User", host.links()), role_name: role },
    });
  });

  const isKnown = (name: string) => isCollaborator(host.rules, name);

  api.post(`${REPOSITORY}/issues/:number/labels`, async (context) => {
    const { pullRequests, pullRequest } = named(context, host);
    const { labels } = await readBody(context, AddLabels);
    await pullRequests.change(pullRequest.number, { labels: union(pullRequest.labels, labels) });
    return context.json(labels.map((name) => ({ name })));
  });

  api.post(`${REPOSITORY}/issues/:number/assignees`, async (context) => {
    const { pullRequests, pullRequest } = named(context, host);
    const { assignees } = await readBody(context, AddAssignees);
    // GitHub leaves out the others and doesn't say so.
    const added = union(pullRequest.assignees, assignees.filter(isKnown));
    await pullRequests.change(pullRequest.number, { assignees: added });
    return context.json({ assignees: added.map((login) => ({ login })) }, 201);
  });

  api.post(`${REPOSITORY}/pulls/:number/requested_reviewers`, async (context) => {
    const { pullRequests, pullRequest } = named(context, host);
    const { reviewers, team_reviewers: teams } = await readBody(context, AskReviewers);
    const { owner, fullName } = pullRequests.repository;
    const asked = [...reviewers, ...teams.map((team) => `${owner}/${team}`)];
    if (asked.includes(pullRequest.author)) {
      throw new ApiRefusal(422, "Review cannot be requested from pull request author.");
    }
    if (!asked.every(isKnown)) {
      const who = "Reviews may only be requested from collaborators.";
      const which = "One or more of the users or teams you specified is not a collaborator of the";
      throw new ApiRefusal(422, `${who} ${which} ${fullName} repository.`);
    }
    const changed = { reviewers: union(pullRequest.reviewers, asked) };
    await pullRequests.change(pullRequest.number, changed, loginOf(context));
    const after = { ...pullRequest, ...changed };
    return context.json(await full(context, host, pullRequests, after, UNKNOWN), 201);
  });

  api.delete(`${REPOSITORY}/pulls/:number/requested_reviewers`, async (context) => {
    const { pullRequests, pullRequest } = named(context, host);
    const { reviewers, team_reviewers: teams } = await readBody(context, AskReviewers);
    const { owner } = pullRequests.repository;
    const gone = new Set([...reviewers, ...teams.map((team) => `${owner}/${team}`)]);
    const changed = { reviewers: pullRequest.reviewers.filter((name) => !gone.has(name)) };
    await pullRequests.change(pullRequest.number, changed, loginOf(context));
    return context.json(await full(context, host, pullRequests, { ...pullRequest, ...changed }, UNKNOWN));
  });

  api.delete(`${REPOSITORY}/issues/:number/labels/:name`, async (context) => {
    const { pullRequests, pullRequest } = named(context, host);
    const labels = pullRequest.labels.filter((name) => name !== context.req.param("name"));
    await pullRequests.change(pullRequest.number, { labels }, loginOf(context));
    return context.json(labels.map((name) => ({ name })));
  });
}

function union(some: readonly string[], others: readonly string[]): string[] {
  return [...new Set([...some, ...others])];
}
