import { turnCommits } from "../../publish/earlier-push.ts";
import { changedEntries } from "../../workspace/git/objects.ts";
import type { NotedTurn } from "../../publish/turn-note.ts";
import type { TurnContext, RunnerTurn } from "../../turn-context.ts";
import { claimsOfChange } from "./claims-of-change.ts";

/**
 * Those of a job's earlier turns that the change between two commits has, with what still holds of
 * them: claims whose page and words are in it, and left-out files that it doesn't have either.
 */
export async function keepEarlier(
  earlier: readonly NotedTurn[],
  { from, to }: { from: string; to: string },
  { jobId }: RunnerTurn,
  context: TurnContext,
): Promise<NotedTurn[]> {
  if (earlier.length === 0) return [];
  const { keys, changed } = await context.mirror.use(async (git) => {
    const commits = await turnCommits(git, jobId, `${from}..${to}`);
    const keys = new Set(commits.map(({ key }) => key));
    return { keys, changed: await changedEntries(git, from, to) };
  });
  const its = earlier.filter(({ turnKey }) => keys.has(turnKey));
  const claims = its.flatMap((turn) => turn.claims);
  const kept = new Set((await claimsOfChange(claims, changed, context)) ?? []);
  const paths = new Set(changed.map(({ path }) => path));
  return its.map((turn) => ({
    ...turn,
    claims: turn.claims.filter((claim) => kept.has(claim)),
    leftOut: turn.leftOut.filter((path) => !paths.has(path)),
  }));
}
