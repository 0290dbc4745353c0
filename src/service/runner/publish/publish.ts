import type { Redact } from "../redaction.ts";
import { TransientRunError } from "../run-error.ts";
import type { PullRequestHost, HostedPullRequest } from "./code-host.ts";
import { bodyOf, mergedBody, titleOf, type TurnText } from "./pull-request-text.ts";

export type PublishInput = {
  codeHost: PullRequestHost;
  branch: string;
  baseBranch: string;
  /** What the branch ends in now. */
  commit: string;
  /** Whether a pull request that is no longer open holds the turn's commit, as far as is known beside its head. @default none */
  isTurns?: (pull: HostedPullRequest) => boolean;
  turn: TurnText;
  redact: Redact;
  signal: AbortSignal;
};

/**
 * Makes sure that there is one open pull request for the job's branch, with the turn's text, and resolves to its address. May be
 * repeated: the pull request is found by its branch. One that was closed or merged stays as it is, and another is opened, unless
 * it holds this turn's commit already.
 */
export async function publish(input: PublishInput): Promise<string> {
  const { codeHost, branch, baseBranch, turn, redact, signal } = input;
  // Twice: somebody may open or close one between our looking and our creating.
  for (let attempt = 0; attempt < 2; attempt++) {
    const found = await codeHost.find(branch, signal);
    const fitting = fittingOne(found, input);
    if (fitting) {
      if (fitting.state === "open") {
        await codeHost.updateBody(fitting.number, mergedBody(fitting.body, bodyOf(turn, redact)), signal);
      }
      return fitting.url;
    }
    const created = await codeHost.create(
      { branch, base: baseBranch, title: titleOf(turn, redact), body: bodyOf(turn, redact) },
      signal,
    );
    if (created !== "exists") return created.url;
  }
  throw new TransientRunError("The code host says that the pull request exists, but does not list it.");
}

function fittingOne(
  found: readonly HostedPullRequest[],
  { commit, isTurns = () => false }: Pick<PublishInput, "commit" | "isTurns">,
): HostedPullRequest | undefined {
  return (
    found.find(({ state }) => state === "open") ??
    found.find(({ headSha }) => headSha === commit) ??
    found.find(isTurns)
  );
}
