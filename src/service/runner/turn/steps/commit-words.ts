import type { CommitWords } from "../../workspace/git/commit-tree.ts";
import { type TurnContext, type RunnerTurn, wordsOf } from "../../turn-context.ts";

/** What a turn's commit says, whose it is, and when. */
export async function commitWords(
  turn: RunnerTurn,
  { apart, clock, committer }: Pick<TurnContext, "apart" | "clock" | "committer">,
  summary: string | null,
): Promise<CommitWords> {
  const { pullRequests, commits } = turn.project;
  const message = await apart.read("commitMessageOf", {
    ...wordsOf(turn),
    summary,
    titleTemplate: pullRequests.titleTemplate,
    signedOffBy: commits.signOff ? `${committer.name} <${committer.email}>` : null,
  });
  return { committer, message, atMs: clock.wallMs() };
}
