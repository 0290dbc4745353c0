import type { RunnerProject } from "../turn.ts";
import type { HostedPullRequest, PullRequestHost } from "../../code-host/code-host.ts";
import { RefusedByCodeHostError } from "../../code-host/github-api.ts";

type Decoration = {
  codeHost: PullRequestHost;
  settings: RunnerProject["pullRequests"];
  signal: AbortSignal;
};

/**
 * Puts the settings' labels, assignees and reviewers on a pull request, one by one: one that the
 * code host refuses would keep it from taking the others. Resolves to what it refused, a sentence
 * each: the pull request stays open without it.
 */
export async function decorate(
  { number }: HostedPullRequest,
  { codeHost, settings, signal }: Decoration,
): Promise<string[]> {
  const notes: string[] = [];
  for (const kind of ["labels", "assignees", "reviewers"] as const) {
    const refused: string[] = [];
    for (const name of settings[kind]) {
      const isTaken = await codeHost.decorate(number, kind, name, signal).catch((error: unknown) => {
        if (error instanceof RefusedByCodeHostError) return false;
        throw error;
      });
      if (!isTaken) refused.push(name);
    }
    if (refused.length > 0) notes.push(`The code host refused the ${kind}: ${refused.join(", ")}.`);
  }
  return notes;
}
