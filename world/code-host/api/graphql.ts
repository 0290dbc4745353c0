import { readFileSync } from "node:fs";
import {
  buildSchema,
  type DocumentNode,
  execute,
  GraphQLError,
  type GraphQLSchema,
  parse,
  validate,
  visit,
} from "graphql";
import { Hono } from "hono";
import { z } from "zod";
import type { Host } from "../host.ts";
import { ApiRefusal, notFound } from "./errors.ts";
import { queryRoot } from "./graphql-nodes.ts";
import type { CallLimits } from "./call-limits.ts";

const Asked = z.object({ query: z.string(), variables: z.record(z.string(), z.unknown()).nullish() });

const NO_TEAMS =
  "Your token has not been granted the required scopes to execute this query. The 'combinedSlug' " +
  "field requires one of the following scopes: ['read:org', 'read:discussion'], but your token has " +
  "only been granted the: ['repo'] scopes.";

let schema: GraphQLSchema | undefined;

/**
 * Returns GitHub's own published schema. It takes most of a second, so it is built only when it is
 * needed.
 */
function githubSchema(): GraphQLSchema {
  const file = new URL("schema.graphql", import.meta.resolve("@octokit/graphql-schema"));
  schema ??= buildSchema(readFileSync(file, "utf8"), { assumeValidSDL: true });
  return schema;
}

/**
 * Makes GitHub's GraphQL API for pull requests. It checks documents against GitHub's whole schema.
 * It answers only the fields that the job service needs, and the others are null.
 */
export function createGraphql(host: Host, limits: CallLimits): Hono {
  const graphql = new Hono();
  graphql.post("/", async (context) => {
    if (!host.rules.hasGraphql) throw notFound();
    const caller = host.tokens.caller(context.req.header("authorization"));
    if (caller === "refused") throw new ApiRefusal(401, "Bad credentials");
    if (caller === "nobody") throw new ApiRefusal(401, "Requires authentication");
    const { data: asked } = Asked.safeParse(await context.req.json().catch(() => null));
    if (asked === undefined)
      throw new ApiRefusal(400, "A query attribute must be specified and must be a string.");
    if (limits.isSpent(caller, "graphql")) {
      limits.calls.refused += 1;
      limits.tell(context, caller, "graphql");
      const message = "API rate limit exceeded for user ID 1.";
      return context.json({ errors: [{ type: "RATE_LIMITED", message }] });
    }
    const variables = asked.variables ?? {};
    const document = documentOf(asked.query);
    const faults = document instanceof GraphQLError ? [document] : validate(githubSchema(), document);
    if (document instanceof GraphQLError || faults.length > 0) return context.json({ errors: faults });
    if (!host.rules.readsTeams && /\bon Team\b/.test(asked.query)) {
      return context.json({ errors: [{ type: "INSUFFICIENT_SCOPES", message: NO_TEAMS }] });
    }
    const cost = costOf(document, variables);
    limits.spend(caller, "graphql", cost);
    limits.calls.graphql += 1;
    limits.calls.graphqlPoints += cost;
    limits.tell(context, caller, "graphql");
    const { data, errors } = await execute({
      schema: githubSchema(),
      document,
      rootValue: queryRoot({ host, caller, cost, rateLimit: limits.left(caller, "graphql") }),
      variableValues: variables,
    });
    return context.json({
      data,
      ...(errors === undefined
        ? {}
        : {
            // GitHub puts the type beside the message.
            errors: errors.map(({ message, path, extensions, locations }) => ({
              ...extensions,
              path,
              locations,
              message,
            })),
          }),
    });
  });
  return graphql;
}

function documentOf(query: string): DocumentNode | GraphQLError {
  try {
    return parse(query);
  } catch (thrown) {
    if (thrown instanceof GraphQLError) return thrown;
    throw thrown;
  }
}

/**
 * Returns a document's points: the number of requests that fill its connections, divided by a
 * hundred, and at least one (docs.github.com/graphql, "Rate limits and query limits").
 */
function costOf(document: DocumentNode, variables: Record<string, unknown>): number {
  const sizes = [1];
  let requests = 0;
  visit(document, {
    Field: {
      enter(field) {
        const bound = field.arguments?.find(
          ({ name }) => name.value === "first" || name.value === "last",
        )?.value;
        const size =
          bound?.kind === "IntValue"
            ? Number(bound.value)
            : bound?.kind === "Variable"
              ? Number(variables[bound.name.value] ?? 1)
              : null;
        const around = sizes.at(-1) ?? 1;
        if (size !== null) requests += around;
        sizes.push(around * (size ?? 1));
      },
      leave() {
        sizes.pop();
      },
    },
  });
  return Math.max(1, Math.round(requests / 100));
}
