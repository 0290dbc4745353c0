import { type Env, pickEnv } from "../../env.ts";

const PASSED_ON = ["PATH", "LANG", "LC_ALL", "TZ"] as const;

/**
 * The whole environment of an agent: how to find programs, throw-away folders for its own files, and the variables that the project
 * names. None of ours, so no credentials of the code host.
 */
export function agentEnv(
  env: Env,
  folders: { job: string; home: string; tmp: string },
  project: Readonly<Record<string, string>>,
): Record<string, string> {
  return {
    LANG: "C.UTF-8",
    ...pickEnv(env, PASSED_ON),
    TERM: "dumb",
    HOME: folders.home,
    TMPDIR: folders.tmp,
    // Git started in the tree, which is no repository, must not find one that the data folder happens to lie in.
    GIT_CEILING_DIRECTORIES: folders.job,
    ...project,
  };
}
