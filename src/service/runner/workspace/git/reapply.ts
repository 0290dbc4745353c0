import { NOBODY } from "../../../pulls/code-host/commit-identities.ts";
import { type CommitWords, commitTree } from "./commit-tree.ts";
import type { GitRunner } from "./git.ts";

/** The change of a commit, compared with `from`, on top of another commit. */
type Moved = { commit: string; from: string; onto: string };
type Clash = { kind: "contained" } | { kind: "conflict" };

/** Nobody sees the commits that it makes. */
const UNSEEN = { ...NOBODY, signingKeyFile: null };

/**
 * Makes the change of a commit, compared with `from`, on top of another commit, with the same
 * message. `contained` means that `onto` has the change already. Nothing is applied in part.
 */
export async function reapply(
  git: GitRunner,
  { commit, from, onto, ...by }: Moved & Omit<CommitWords, "message">,
): Promise<{ kind: "applied"; commit: string } | Clash> {
  const moved = await changeOnto(git, { commit, from, onto });
  if (moved.kind !== "tree") return moved;
  const message = await git.run(["log", "-1", "--format=%B", commit]);
  const { tree } = moved;
  return { kind: "applied", commit: await commitTree(git, { ...by, tree, parents: [onto], message }) };
}

/** Like {@link reapply}, without making the commit. Resolves to its files. */
export async function changeOnto(
  git: GitRunner,
  { commit, from, onto }: Moved,
): Promise<{ kind: "tree"; tree: string } | Clash> {
  const commitOf = (tree: string, parents: readonly string[], message: string) =>
    commitTree(git, { committer: UNSEEN, atMs: 0, tree, parents, message });
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
  const isContained = tree === (await git.text(["rev-parse", `${onto}^{tree}`]));
  return isContained ? { kind: "contained" } : { kind: "tree", tree };
}
