import { operatorText, TurnFailedError } from "../../../base/run-error.ts";
import type { CommitIdentity } from "../../../pulls/code-host/commit-identities.ts";
import type { GitRunner } from "./git.ts";
import { GitError } from "./git-fault.ts";

/** Who makes a commit, and the SSH key that signs it, or null. */
export type Committer = CommitIdentity & { signingKeyFile: string | null };

/** What a commit says beside its content. */
export type CommitWords = {
  committer: Committer;
  message: Uint8Array | string;
  /** Epoch milliseconds. */
  atMs: number;
};

/**
 * Creates a commit, and signs it if its committer has a key. Resolves to its id. Rejects with a
 * `TurnFailedError` if the key can't sign.
 */
export async function commitTree(
  git: GitRunner,
  input: CommitWords & { tree: string; parents: readonly string[] },
): Promise<string> {
  const { tree, parents, message, atMs } = input;
  const { name, email, signingKeyFile } = input.committer;
  const when = `@${Math.floor(atMs / 1000)} +0000`;
  const env = {
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_AUTHOR_DATE: when,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
    GIT_COMMITTER_DATE: when,
  };
  const signing = signingKeyFile === null ? [] : [`-S${signingKeyFile}`];
  const from = parents.flatMap((parent) => ["-p", parent]);
  try {
    return await git.text(["commit-tree", ...signing, tree, ...from], { stdin: message, env });
  } catch (error) {
    if (signingKeyFile === null || !(error instanceof GitError)) throw error;
    throw new TurnFailedError("The commit couldn't be signed.", {
      details: [
        "Check commits.signingKeyFile: a private SSH key without a passphrase that only the service's " +
          "user can read. ssh-keygen must be installed.",
        operatorText(error),
      ],
    });
  }
}
