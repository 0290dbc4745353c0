import { numberIn } from "../../publish/earlier-push.ts";
import type { GitRunner } from "../../workspace/git/git.ts";
import { GitError } from "../../workspace/git/git-fault.ts";
import { joinedPaths } from "../../publish/bounded-paths.ts";
import { joinedClaims } from "../../publish/checked-claim.ts";
import type { TurnText } from "../../publish/pull-request-text.ts";
import { readTemplate } from "../../publish/read-template.ts";
import type { NotedTurn, TurnWork, Withheld } from "../../publish/turn-note.ts";
import { arePublicDocs } from "../../publish/visibility.ts";
import { readWholeChange, type WholeChange } from "../../publish/whole-change.ts";
import { operatorText } from "../../../base/run-error.ts";
import type { TurnContext, RunnerTurn } from "../../turn-context.ts";

/**
 * The parts of a pull request's text beyond the turn's own result. What was merged with the commit
 * `mergedHead` isn't described again.
 */
export async function describe(
  turn: RunnerTurn,
  context: TurnContext,
  { commit, summary, leftOut, claims, withheld, earlier }: TurnWork,
  mergedHead: string | null,
) {
  const isPublic = await arePublicDocs(turn.project, context);
  const published = (text: string | null) => (isPublic ? withoutOthers(text, withheld) : text);
  const orElse = (text: string, instead: string) => published(text) || instead;
  const change = await readChange(turn, context, commit, mergedHead);
  const before = earlier.filter(({ turnKey }) => change?.turns.has(numberIn(turnKey)) === true);
  const all = joinedClaims([...before.map((each) => each.claims), claims ?? []]);
  const told = all.map((claim) => ({
    ...claim,
    page: orElse(claim.page, "a page"),
    statement: orElse(claim.statement, "a statement"),
  }));
  return {
    summary: published(summary),
    leftOut: joinedPaths([...before.map((each) => each.leftOut), leftOut]).map((path) =>
      orElse(path, "a file"),
    ),
    earlierTurns: turn.earlierTurns.map((earlier) => ({ ...earlier, summary: published(earlier.summary) })),
    template: await orNull(context, readTemplate, turn.jobId),
    change,
    credit: creditOf(turn.kind === "update" ? { ...turn, requester: null } : turn, before, isPublic),
    sources: await context.apart.read("sourcesText", { claims: told, isPublicPullRequest: isPublic }),
  };
}

/** What may be told of a text. Null if it isn't known what may. */
export function withoutOthers(text: string | null, withheld: Withheld | null): string | null {
  return withheld === null ? null : (withheld.find((each) => each.text === text)?.rest ?? text);
}

/** Reads what the branch with this commit changes. Null if git can't tell. */
export function readChange(
  turn: RunnerTurn,
  context: TurnContext,
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
  { mirror, logger }: TurnContext,
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

/** The people that the text may name, and where the last of them asked. */
function creditOf(
  { requester, project }: RunnerTurn,
  before: readonly NotedTurn[],
  isPublic: boolean,
): TurnText["credit"] {
  const { requester: policy } = project.pullRequests;
  const isNamed = policy !== "never" && !(policy === "auto" && isPublic);
  const people = [...before.map((turn) => turn.requester), requester].filter((person) => person !== null);
  const last = people.at(-1);
  if (!isNamed || last === undefined) return null;
  return { names: [...new Set(people.map(({ name }) => name))], link: last.link };
}
