import { DocsAgentError, StartError } from "../../shared/errors.ts";
import { counted } from "../../shared/text/text.ts";
import type { ServiceProject } from "../config/config.ts";
import type { GitRunner, remoteOf } from "../runner/workspace/git/git.ts";
import { createIsDoc } from "../runner/workspace/tree/select-changes.ts";
import type { Found } from "./check-code-host.ts";
import { findNavigation, missingText } from "./find-navigation.ts";

const BASE = "refs/check/base";
/** Where a server sends more than names, it may take longer than anybody waits. */
const FETCH_LIMIT_MS = 20_000;

/**
 * Says with what a project's documentation is made, and whether `docs` covers it. `paths` are those
 * of its base branch, or null if nobody could list them.
 */
export function checkDocs({ docs }: Pick<ServiceProject, "docs">, paths: readonly string[] | null): Found {
  if (paths === null) return { found: "not known, because the files can't be listed", warning: null };
  const covered = findNavigation(paths, createIsDoc(docs));
  const { generators, pages, coveredPages } = covered;
  if (pages > 0 && coveredPages === 0) {
    throw new StartError(
      `docs covers none of the ${counted(pages, "page")} of the branch. Correct its globs, for example to ` +
        '["docs/**"], and its case: "Docs" isn\'t "docs".',
    );
  }
  const share = `docs covers ${coveredPages} of ${counted(pages, "page")}`;
  const made = generators.length === 0 ? "" : `, made with ${generators.join(", ")}`;
  return { found: `${share}${made}`, warning: missingText(covered) };
}

/**
 * Lists the files of a branch. Fetches names only, if the git server can do that. Null where it
 * doesn't let us list them in time.
 */
export async function fetchPaths(
  git: GitRunner,
  remote: ReturnType<typeof remoteOf>,
  branch: string,
): Promise<string[] | null> {
  const options = ["--quiet", "--no-tags", "--depth=1", "--filter=blob:none"];
  const ref = `+refs/heads/${branch}:${BASE}`;
  try {
    await git.run(["fetch", ...options, "--", remote.url, ref], { remote, timeLimitMs: FETCH_LIMIT_MS });
  } catch (error) {
    if (!(error instanceof DocsAgentError)) throw error;
    return null;
  }
  return pathsIn(git, BASE);
}

/** The files of a commit that is here. */
export function pathsIn(git: GitRunner, commit: string): Promise<string[]> {
  return git.lines(["ls-tree", "-r", "-z", "--name-only", "--full-tree", "--end-of-options", commit]);
}
