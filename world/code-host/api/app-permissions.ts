import type { MiddlewareHandler } from "hono";
import type { Holder } from "../tokens.ts";
import type { ApiEnv } from "./env.ts";
import { ApiRefusal } from "./errors.ts";

type Level = "read" | "write";
type Need = { permission: string; level: Level };

/**
 * The permissions that an App needs for calls that not every App may make. The first entry that
 * matches a call counts (docs.github.com/rest/authentication/permissions-required-for-github-apps).
 * To update a pull request's branch, an App "must also have permissions to write the contents of
 * the head repository".
 */
const NEEDED: { method: RegExp; path: RegExp; need: Need }[] = [
  {
    method: /^(?:POST|PATCH|PUT|DELETE)$/,
    path: /\/deployments(?:\/|$)/,
    need: { permission: "deployments", level: "write" },
  },
  { method: /^GET$/, path: /\/deployments(?:\/|$)/, need: { permission: "deployments", level: "read" } },
  { method: /^GET$/, path: /\/check-runs\/\d+\/annotations$/, need: { permission: "checks", level: "read" } },
  {
    method: /^(?:POST|PATCH|PUT|DELETE)$/,
    path: /\/merges$|\/git\/(?:blobs|trees|commits|refs)(?:\/|$)|\/pulls\/\d+\/update-branch$/,
    need: { permission: "contents", level: "write" },
  },
];

/**
 * Makes the middleware that refuses calls for which an App's installation has no permission, as
 * GitHub does.
 */
export function permitted(): MiddlewareHandler<ApiEnv> {
  return async (context, next) => {
    const caller = context.get("caller");
    const { method, path } = context.req;
    const { need } = NEEDED.find((each) => each.method.test(method) && each.path.test(path)) ?? {};
    if (caller !== "nobody" && need !== undefined && !isPermitted(caller, need)) {
      context.header("x-accepted-github-permissions", `${need.permission}=${need.level}`);
      throw new ApiRefusal(403, "Resource not accessible by integration");
    }
    await next();
  };
}

export function isPermitted({ permissions }: Holder, { permission, level }: Need): boolean {
  const given = permissions?.[permission];
  return permissions === undefined || given === "write" || given === level;
}
