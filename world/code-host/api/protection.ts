import type { Hono } from "hono";
import type { Host } from "../host.ts";
import type { Protection } from "../commit-records.ts";
import { ProtectBranch, readBody } from "./bodies.ts";
import type { ApiEnv } from "./env.ts";
import { ApiRefusal } from "./errors.ts";
import { mustFind } from "./repos.ts";

const PROTECTION = "/repos/:owner/:repo/branches/:branch/protection";

/** Adds the routes for a branch's rules (docs.github.com/rest/branches/branch-protection). */
export function addProtectionRoutes(api: Hono<ApiEnv>, host: Host): void {
  api.get(PROTECTION, (context) => {
    const { owner, repo, branch } = context.req.param();
    const protection = mustFind(host, owner, repo).records.protection(branch);
    if (protection === null) throw new ApiRefusal(404, "Branch not protected");
    return context.json(protectionShape(protection));
  });

  api.put(PROTECTION, async (context) => {
    const { owner, repo, branch } = context.req.param();
    const body = await readBody(context, ProtectBranch);
    const { required_status_checks: checks, required_pull_request_reviews: reviews } = body;
    const protection = {
      approvals: reviews?.required_approving_review_count ?? 0,
      dismissesStaleReviews: reviews?.dismiss_stale_reviews ?? false,
      requiredChecks: checks?.checks?.map((check) => check.context) ?? checks?.contexts ?? [],
      isStrict: checks?.strict ?? false,
    };
    await mustFind(host, owner, repo).records.saveProtection(branch, protection);
    return context.json(protectionShape(protection));
  });

  api.delete(PROTECTION, async (context) => {
    const { owner, repo, branch } = context.req.param();
    await mustFind(host, owner, repo).records.saveProtection(branch, null);
    return context.body(null, 204);
  });
}

function protectionShape({ approvals, requiredChecks, isStrict, dismissesStaleReviews }: Protection) {
  return {
    enforce_admins: { enabled: true },
    ...(requiredChecks.length === 0
      ? {}
      : {
          required_status_checks: {
            strict: isStrict,
            contexts: requiredChecks,
            checks: requiredChecks.map((context) => ({ context, app_id: null })),
          },
        }),
    ...(approvals === 0
      ? {}
      : {
          required_pull_request_reviews: {
            required_approving_review_count: approvals,
            dismiss_stale_reviews: dismissesStaleReviews,
            require_code_owner_reviews: false,
          },
        }),
  };
}
