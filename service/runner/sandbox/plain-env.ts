import { dirname } from "node:path";
import { type Env, pickEnv } from "../../config/env.ts";
import type { InsidePaths } from "./sandbox.ts";

const PASSED_ON = ["LANG", "LC_ALL", "TZ"] as const;

/**
 * The environment of whatever runs in a sandbox, but for how to find programs: throw-away folders
 * for its own files. None of ours, so no credentials of the code host.
 */
export function plainEnv(env: Env, { home, tmp, tree }: InsidePaths): Record<string, string> {
  return {
    LANG: "C.UTF-8",
    ...pickEnv(env, PASSED_ON),
    TERM: "dumb",
    HOME: home,
    TMPDIR: tmp,
    // Git started in the tree, which is no repository, must not find one that the data folder
    // happens to lie in.
    GIT_CEILING_DIRECTORIES: dirname(tree),
  };
}
