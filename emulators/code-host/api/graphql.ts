import { Hono } from "hono";
import { z } from "zod";
import type { Host } from "../host.ts";
import { ApiRefusal } from "./errors.ts";
import { nodeIdOf } from "./shapes.ts";

const MarkReady = z.object({
  query: z.string().regex(/\bmarkPullRequestReadyForReview\b/),
  variables: z.object({ id: z.string() }),
});

/** The one mutation of GitHub's GraphQL API that the job service uses: a draft becomes ready. */
export function createGraphql(host: Host): Hono {
  const graphql = new Hono();
  graphql.post("/", async (context) => {
    if (host.tokens.caller(context.req.header("authorization")) !== "writer") {
      throw new ApiRefusal(401, "Requires authentication");
    }
    const { data: asked } = MarkReady.safeParse(await context.req.json().catch(() => null));
    if (asked === undefined) {
      return context.json({ errors: [{ type: "undefinedField", message: "Field isn't known here" }] });
    }
    const { id } = asked.variables;
    for (const pullRequests of host.all()) {
      const found = pullRequests.all().find(({ number }) => nodeIdOf(pullRequests.repository, number) === id);
      if (found === undefined) continue;
      await pullRequests.change(found.number, { isDraft: false });
      const pullRequest = { isDraft: false };
      return context.json({ data: { markPullRequestReadyForReview: { pullRequest } } });
    }
    const message = `Could not resolve to a node with the global id of '${id}'`;
    return context.json({ data: null, errors: [{ type: "NOT_FOUND", message }] });
  });
  return graphql;
}
