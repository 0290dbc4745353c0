import { createHash } from "node:crypto";
import type { Context, MiddlewareHandler } from "hono";
import type { Host } from "../host.ts";
import type { Caller } from "../tokens.ts";
import type { ApiEnv } from "./env.ts";
import { ApiRefusal } from "./errors.ts";

const WINDOW_MS = 3_600_000;

/** The calls of the API that were answered, by what they cost. */
export type Calls = {
  /** The number of REST calls that count against the limit. */
  paid: number;
  /** The number of calls that were answered 304, which are free. */
  notModified: number;
  /** The number of calls that were answered "rate limit exceeded". */
  refused: number;
  graphql: number;
  graphqlPoints: number;
};

type Resource = "core" | "graphql";

/**
 * Counts calls as GitHub's primary rate limit does: an hour from a token's first call, with 304
 * free for callers with a token (docs.github.com/rest/using-the-rest-api, "Rate limits" and "Best
 * practices").
 */
export class CallLimits {
  readonly #host: Host;
  readonly #windows = new Map<string, { used: number; endsAt: number }>();
  calls: Calls = none();

  constructor(host: Host) {
    this.#host = host;
  }

  reset(): void {
    this.calls = none();
    this.#windows.clear();
  }

  isSpent(caller: Caller, resource: Resource): boolean {
    return this.#window(caller, resource).used >= this.#host.rules.callsPerHour;
  }

  spend(caller: Caller, resource: Resource, cost: number): void {
    this.#window(caller, resource).used += cost;
  }

  /** Sets the headers that every answer has. */
  tell(context: Context, caller: Caller, resource: Resource): void {
    const { used, endsAt } = this.#window(caller, resource);
    const limit = this.#host.rules.callsPerHour;
    context.header("x-ratelimit-limit", String(limit));
    context.header("x-ratelimit-remaining", String(Math.max(0, limit - used)));
    context.header("x-ratelimit-used", String(used));
    context.header("x-ratelimit-reset", String(Math.ceil(endsAt / 1000)));
    context.header("x-ratelimit-resource", resource);
  }

  /** Returns the remaining points, for GraphQL's `rateLimit`. */
  left(
    caller: Caller,
    resource: Resource,
  ): { limit: number; remaining: number; used: number; resetAt: string } {
    const { used, endsAt } = this.#window(caller, resource);
    const limit = this.#host.rules.callsPerHour;
    return { limit, used, remaining: Math.max(0, limit - used), resetAt: new Date(endsAt).toISOString() };
  }

  #window(caller: Caller, resource: Resource): { used: number; endsAt: number } {
    const key = `${typeof caller === "string" ? caller : caller.key} ${resource}`;
    const now = this.#host.now().getTime();
    const known = this.#windows.get(key);
    if (known !== undefined && known.endsAt > now) return known;
    const fresh = { used: 0, endsAt: now + WINDOW_MS };
    this.#windows.set(key, fresh);
    return fresh;
  }
}

function none(): Calls {
  return { paid: 0, notModified: 0, refused: 0, graphql: 0, graphqlPoints: 0 };
}

/**
 * Makes the middleware for the REST API's rate limit and its conditional requests. As on GitHub, an
 * ETag also depends on the token, so that another token's read is never a 304.
 */
export function limited(limits: CallLimits): MiddlewareHandler<ApiEnv> {
  return async (context, next) => {
    const caller = context.get("caller");
    if (limits.isSpent(caller, "core")) {
      limits.calls.refused += 1;
      limits.tell(context, caller, "core");
      throw new ApiRefusal(403, "API rate limit exceeded for user ID 1.");
    }
    await next();
    const isFree = await isNotModified(context);
    if (isFree) limits.calls.notModified += 1;
    else {
      limits.calls.paid += 1;
      limits.spend(caller, "core", 1);
    }
    limits.tell(context, caller, "core");
  };
}

/** Sets an answer's ETag, and makes the answer a 304 if the caller already has it. */
async function isNotModified(context: Context<ApiEnv>): Promise<boolean> {
  const caller = context.get("caller");
  if (context.req.method !== "GET" || context.res.status !== 200) return false;
  const key = typeof caller === "string" ? caller : caller.key;
  const link = context.res.headers.get("link") ?? "";
  const body = await context.res.clone().text();
  const hash = createHash("sha256").update(`${key}\n${link}\n${body}`).digest("hex");
  context.header("etag", `W/"${hash}"`);
  context.header("cache-control", "private, max-age=60, s-maxage=60");
  const known = context.req.header("if-none-match")?.match(/"([^"]*)"/)?.[1];
  if (known !== hash || caller === "nobody") return false;
  const { headers } = context.res;
  headers.delete("content-length");
  headers.delete("content-type");
  context.res = new Response(null, { status: 304, headers });
  return true;
}
