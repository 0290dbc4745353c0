import { type CommitWords, commitTree } from "./commit-tree.ts";
import type { GitRunner } from "./git.ts";

type Reapplied = { kind: "applied"; commit: string } | { kind: "contained" } | { kind: "conflict" };

/**
 * Makes the change of a commit, compared with `from`, on top of another commit, with the same
 * message. `contained` means that `onto` has the change already. Nothing is applied in part.
 */
export async function reapply(
  git: GitRunner,
  {
    commit,
    from,
    onto,
    ...by
  }: { commit: string; from: string; onto: string } & Omit<CommitWords, "message">,
): Promise<Reapplied> {
  // Nobody sees these.
  const unsigned = { ...by, committer: { ...by.committer, signingKeyFile: null } };
  const commitOf = (tree: string, parents: readonly string[], message: string) =>
    commitTree(git, { ...unsigned, tree, parents, message });
  // Git merges two commits as seen from where their histories part, so these get such a history.
  const start = await commitOf(`${from}^{tree}`, [], "from");
  const ours = await commitOf(`${onto}^{tree}`, [start], "onto");
  const theirs = await commitOf(`${commit}^{tree}`, [start], "commit");
  // A page that was moved meanwhile may no longer be part of the docs, so it isn't followed.
  const config = ["-c", "merge.renames=false", "-c", "merge.directoryRenames=false"];
  const options = ["--write-tree", "--name-only", "--no-messages", "-z"];
  const merged = await git.run([...config, "merge-tree", ...options, ours, theirs], { okCodes: [0, 1] });
  const [tree = "", ...conflicts] = merged
    .toString("utf8")
    .split("\0")
    .filter((field) => field !== "");
  if (conflicts.length > 0) return { kind: "conflict" };
  if (tree === (await git.text(["rev-parse", `${onto}^{tree}`]))) return { kind: "contained" };
  const message = await git.run(["log", "-1", "--format=%B", commit]);
  return { kind: "applied", commit: await commitTree(git, { ...by, tree, parents: [onto], message }) };
}
