import { GitError } from "../git/git-fault.ts";
import type { TurnText } from "../publish/pull-request-text.ts";
import { readTemplate } from "../publish/read-template.ts";
import type { TurnWork, Withheld } from "../publish/turn-note.ts";
import { arePublicDocs } from "../publish/visibility.ts";
import { readWholeChange } from "../publish/whole-change.ts";
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
    ...(await readForText(turn, context, commit, mergedHead)),
    credit: creditOf(turn, isPublic),
    sources: await context.apart.read("sourcesText", { claims: told ?? null, isPublicPullRequest: isPublic }),
  };
}

/** What may be told of a text. Null if it isn't known what may. */
export function withoutOthers(text: string | null, withheld: Withheld | null): string | null {
  return withheld === null ? null : (withheld.find((each) => each.text === text)?.rest ?? text);
}

/** Reads what the text needs from the repository. If git can't tell, only the text is affected. */
async function readForText(
  { jobId }: RunnerTurn,
  { mirror, logger }: RunContext,
  commit: string,
  mergedHead: string | null,
) {
  return mirror.use(async (git) => {
    const { base } = await mirror.tips(jobId);
    const orNull = (error: unknown) => {
      if (!(error instanceof GitError)) throw error;
      logger.warn({ problem: operatorText(error) }, "the change can't be described");
      return null;
    };
    const template = await readTemplate(git, base).catch(orNull);
    const change = await readWholeChange(git, { base, commit, jobId, mergedHead }).catch(orNull);
    return { template, change };
  });
}

/** The person that the text may name, and whether it may link to where they asked. */
function creditOf({ requester, project }: RunnerTurn, isPublic: boolean): TurnText["credit"] {
  const { requester: policy } = project.pullRequests;
  if (requester === null || policy === "never" || (policy === "auto" && isPublic)) return null;
  return { name: requester.name, link: requester.link };
}
