import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { Host } from "../host.ts";
import { permitted } from "./app-permissions.ts";
import { addCheckRoutes } from "./checks.ts";
import { addRefRoutes } from "./commits.ts";
import { addDeploymentRoutes } from "./deployments.ts";
import type { ApiEnv } from "./env.ts";
import { ApiRefusal, notFound } from "./errors.ts";
import { limited, type CallLimits } from "./call-limits.ts";
import { addGitDataRoutes } from "./git-data.ts";
import { addLineCommentRoutes } from "./line-comments.ts";
import { addPeopleRoutes } from "./people.ts";
import { addProtectionRoutes } from "./protection.ts";
import { addPullRequestRoutes } from "./pulls.ts";
import { addRepositoryRoutes } from "./repos.ts";
import { addReviewRoutes } from "./reviews.ts";
import { addUpdateRoutes } from "./updates.ts";

const MAX_BODY_BYTES = 1024 * 1024;

/**
 * Makes the part of GitHub's REST API that the job service uses. Reading needs no token, as with a
 * public repository.
 */
export function createApi(host: Host, limits: CallLimits): Hono<ApiEnv> {
  const api = new Hono<ApiEnv>();
  api.use(async (context, next) => {
    const caller = host.tokens.caller(context.req.header("authorization"));
    if (caller === "refused") throw new ApiRefusal(401, "Bad credentials");
    const isReading = context.req.method === "GET" || context.req.method === "HEAD";
    if (caller === "nobody" && !isReading) throw new ApiRefusal(401, "Requires authentication");
    context.set("caller", caller);
    context.set("canPush", caller !== "nobody");
    await next();
    context.header("x-github-media-type", "github.v3; format=json");
  });
  api.use(limited(limits));
  api.use(permitted());
  api.use(
    bodyLimit({
      maxSize: MAX_BODY_BYTES,
      onError: () => {
        throw new ApiRefusal(413, "The request body is too large");
      },
    }),
  );
  addProtectionRoutes(api, host);
  addRepositoryRoutes(api, host);
  addRefRoutes(api, host);
  addGitDataRoutes(api, host);
  addUpdateRoutes(api, host);
  addPullRequestRoutes(api, host);
  addPeopleRoutes(api, host);
  addReviewRoutes(api, host);
  addLineCommentRoutes(api, host);
  addCheckRoutes(api, host);
  addDeploymentRoutes(api, host);
  api.notFound((context) => answerRefusal(context, notFound()));
  return api;
}

/** Answers a refusal as GitHub would. */
export function answerRefusal(context: Context, refusal: ApiRefusal): Response {
  return context.json(refusal.body(), refusal.status);
}
