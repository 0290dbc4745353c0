import type { GitRunner } from "../git/git.ts";
import { GitError } from "../git/git-fault.ts";
import type { TurnText } from "../publish/pull-request-text.ts";
import { readTemplate } from "../publish/read-template.ts";
import type { TurnWork, Withheld } from "../publish/turn-note.ts";
import { arePublicDocs } from "../publish/visibility.ts";
import { readWholeChange, type WholeChange } from "../publish/whole-change.ts";
import { operatorText } from "../../base/run-error.ts";
import type { RunContext, RunnerTurn } from "../turn.ts";

/**
 * The parts of a pull request's text beyond the turn's own result. What was merged with the commit
 * `mergedHead` isn't described again.
 */
export async function describe(
  turn: RunnerTurn,
  context: RunContext,
  { commit, summary, leftOut, claims, withheld }: TurnWork,
  mergedHead: string | null,
) {
  const isPublic = await arePublicDocs(turn.project, context);
  const published = (text: string | null) => (isPublic ? withoutOthers(text, withheld) : text);
  const orElse = (text: string, instead: string) => published(text) || instead;
  const told = claims?.map((claim) => ({
    ...claim,
    page: orElse(claim.page, "a page"),
    statement: orElse(claim.statement, "a statement"),
  }));
  return {
    summary: published(summary),
    leftOut: leftOut.map((path) => orElse(path, "a file")),
    earlierTurns: turn.earlierTurns.map((earlier) => ({ ...earlier, summary: published(earlier.summary) })),
    template: await orNull(context, readTemplate, turn.jobId),
    change: await readChange(turn, context, commit, mergedHead),
    credit: creditOf(turn, isPublic),
    sources: await context.apart.read("sourcesText", { claims: told ?? null, isPublicPullRequest: isPublic }),
  };
}

/** What may be told of a text. Null if it isn't known what may. */
export function withoutOthers(text: string | null, withheld: Withheld | null): string | null {
  return withheld === null ? null : (withheld.find((each) => each.text === text)?.rest ?? text);
}

/** Reads what the branch with this commit changes. Null if git can't tell. */
export function readChange(
  turn: RunnerTurn,
  context: RunContext,
  commit: string,
  mergedHead: string | null,
): Promise<WholeChange | null> {
  const { jobId } = turn;
  const { mirror } = context;
  const read = (_: GitRunner, base: string) => readWholeChange(mirror, { base, commit, jobId, mergedHead });
  return orNull(context, read, jobId);
}

/** Reads from the repository for the text. If git can't tell, only the text is affected. */
function orNull<Found>(
  { mirror, logger }: RunContext,
  read: (git: GitRunner, base: string) => Promise<Found>,
  jobId: string,
): Promise<Found | null> {
  return mirror.use(async (git) => {
    try {
      return await read(git, (await mirror.tips(jobId)).base);
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
      logger.warn({ problem: operatorText(error) }, "the change can't be described");
      return null;
    }
  });
}

/** The person that the text may name, and whether it may link to where they asked. */
function creditOf({ requester, project }: RunnerTurn, isPublic: boolean): TurnText["credit"] {
  const { requester: policy } = project.pullRequests;
  if (requester === null || policy === "never" || (policy === "auto" && isPublic)) return null;
  return { name: requester.name, link: requester.link };
}
