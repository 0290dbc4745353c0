import { DocsAgentError } from "../../src/core/errors.ts";
import { counted } from "../../src/core/text/text.ts";
import type { ServiceProject } from "../config/config.ts";
import type { GitRunner, remoteOf } from "../runner/git/git.ts";
import { createIsDoc } from "../runner/tree/select-changes.ts";
import type { Found } from "./check-code-host.ts";
import { findNavigation, missingText } from "./find-navigation.ts";

const BASE = "refs/check/base";
/** Where a server sends more than names, it may take longer than anybody waits. */
const FETCH_LIMIT_MS = 20_000;

/**
 * Looks at what the base branch holds: with what its documentation is made, and whether `docs`
 * covers it. Fetches names only, if the git server can do that. `found` is empty or goes on with a
 * sentence. Where the server doesn't let us list files in time, nothing is said.
 */
export async function checkDocs(
  { baseBranch, docs }: Pick<ServiceProject, "baseBranch" | "docs">,
  git: GitRunner,
  remote: ReturnType<typeof remoteOf>,
): Promise<Found> {
  const options = ["--quiet", "--no-tags", "--depth=1", "--filter=blob:none"];
  const ref = `+refs/heads/${baseBranch}:${BASE}`;
  try {
    await git.run(["fetch", ...options, "--", remote.url, ref], { remote, timeLimitMs: FETCH_LIMIT_MS });
  } catch (error) {
    if (!(error instanceof DocsAgentError)) throw error;
    return { found: "", warning: null };
  }
  const paths = await git.lines(["ls-tree", "-r", "-z", "--name-only", "--full-tree", BASE]);
  const covered = findNavigation(paths, createIsDoc(docs));
  const { generators, pages, coveredPages } = covered;
  const share = `${coveredPages} of ${counted(pages, "page")}`;
  const made = `. Made with ${generators.join(", ")}; docs covers ${share}`;
  return { found: generators.length === 0 ? "" : made, warning: missingText(covered) };
}
