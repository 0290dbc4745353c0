import type { ReportedPullRequest } from "../../../src/core/ports/job-service.ts";
import { DocsAgentError } from "../../../src/core/errors.ts";
import { oneLine } from "../printable-text.ts";
import type { Redact } from "../redaction.ts";
import { TransientRunError } from "../run-error.ts";
import type { PullRequestHost, HostedPullRequest } from "./code-host.ts";
import { bodyOf, mergedBody, titleOf, type TurnText } from "./pull-request-text.ts";

/** GitHub's own limit. */
const MAX_TITLE_LENGTH = 256;

export type PublishInput = {
  codeHost: PullRequestHost;
  branch: string;
  baseBranch: string;
  /** What the branch ends in now. */
  commit: string;
  /**
   * Whether a pull request that is no longer open holds the turn's commit, as far as is known
   * beside its head.
   */
  isTurns: (pull: HostedPullRequest) => boolean;
  turn: TurnText;
  redact: Redact;
  signal: AbortSignal;
};

/**
 * Makes sure that there is one open pull request for the job's branch, with the turn's text, and
 * resolves to it. May be repeated: the pull request is found by its branch. One that was closed or
 * merged stays as it is, and another is opened, unless it holds this turn's commit already.
 */
export async function publish(input: PublishInput): Promise<ReportedPullRequest> {
  return reported(await withSize(await published(input), input), input.redact);
}

async function published(input: PublishInput): Promise<HostedPullRequest> {
  const { codeHost, branch, baseBranch, commit, isTurns, turn, redact, signal } = input;
  // Twice: somebody may open or close one between our looking and our creating.
  for (let attempt = 0; attempt < 2; attempt++) {
    const found = await codeHost.find(branch, signal);
    const fitting =
      found.find(({ state }) => state === "open") ??
      found.find(({ headSha }) => headSha === commit) ??
      found.find(isTurns);
    if (fitting) {
      if (fitting.state !== "open") return fitting;
      const body = mergedBody(fitting.body, bodyOf(turn, redact));
      return await codeHost.change(fitting.number, { body }, signal);
    }
    const created = await codeHost.create(
      { branch, base: baseBranch, title: titleOf(turn, redact), body: bodyOf(turn, redact), isDraft: false },
      signal,
    );
    if (typeof created === "object") return created;
  }
  throw new TransientRunError("The code host says that the pull request exists, but does not list it.");
}

/**
 * Asks for the size where no answer so far told it. The turn is done: that it cannot be told is no
 * fault of it.
 */
async function withSize(
  pullRequest: HostedPullRequest,
  { codeHost, signal }: PublishInput,
): Promise<HostedPullRequest> {
  if (pullRequest.size !== null) return pullRequest;
  try {
    return await codeHost.get(pullRequest.number, signal);
  } catch (thrown) {
    if (thrown instanceof DocsAgentError) return pullRequest;
    throw thrown;
  }
}

function reported(pullRequest: HostedPullRequest, redact: Redact): ReportedPullRequest {
  const { url, number, title, state, size, headRef, headSha } = pullRequest;
  return {
    url,
    number,
    // People may have written another one.
    title: oneLine(redact(title), MAX_TITLE_LENGTH),
    state,
    files: size?.files ?? null,
    additions: size?.additions ?? null,
    deletions: size?.deletions ?? null,
    headRef,
    headSha,
  };
}
