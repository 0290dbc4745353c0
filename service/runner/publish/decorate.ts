import type { RunnerProject } from "../turn.ts";
import type { HostedPullRequest, PullRequestHost } from "./code-host.ts";
import { RefusedByCodeHostError } from "./github-api.ts";

type Decoration = {
  codeHost: PullRequestHost;
  settings: RunnerProject["pullRequests"];
  signal: AbortSignal;
};

/**
 * Puts the settings' labels, assignees and reviewers on a pull request. Resolves to what the code
 * host refused, a sentence each: the pull request stays open without it.
 */
export async function decorate(
  { number }: HostedPullRequest,
  { codeHost, settings, signal }: Decoration,
): Promise<string[]> {
  const { labels, assignees, reviewers } = settings;
  const notes: string[] = [];
  async function put(what: string, names: readonly string[], act: () => Promise<readonly string[] | void>) {
    if (names.length === 0) return;
    const refused = await act().catch((error: unknown) => {
      if (!(error instanceof RefusedByCodeHostError)) throw error;
      return names;
    });
    if (refused && refused.length > 0)
      notes.push(`The code host refused the ${what}: ${refused.join(", ")}.`);
  }
  await put("labels", labels, () => codeHost.addLabels(number, labels, signal));
  await put("assignees", assignees, () => codeHost.assign(number, assignees, signal));
  await put("reviewers", reviewers, () => codeHost.askReviewers(number, reviewers, signal));
  return notes;
}
