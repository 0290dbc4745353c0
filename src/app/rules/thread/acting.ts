import { hash } from "node:crypto";
import { z } from "zod";
import type { TurnAct } from "../../../shared/contract/turn.ts";
import { cut } from "../../../shared/text/text.ts";
import { newsKindOf, type PullRequestNews } from "../turn/pull-request-news.ts";
import type { TurnPullRequest } from "../turn/turn-pull-request.ts";
import type { Request } from "../turn/request.ts";
import type { Turn } from "../turn/turn.ts";
import { baseOf, listed } from "../words/pull-request-text.ts";

/** The kinds of news that ask for something that the agent can do. */
export const ActNews = z.enum(["changes-requested", "checks-failed", "conflicts"]);
export type ActNews = z.infer<typeof ActNews>;

const ACTS = {
  "changes-requested": "address",
  "checks-failed": "address",
  conflicts: "update",
} as const satisfies Record<ActNews, TurnAct>;

/** The news that a button is about, and whom or what its request names (untrusted, bounded). */
export const ActButton = z.object({ turnId: z.string(), of: ActNews, names: z.array(z.string()) });
export type ActButton = z.infer<typeof ActButton>;

const NAMES_MAX = 3;
const NAME_MAX_CHARS = 40;

/** The button that goes with news of a turn's pull request. Null if there is none for them. */
export function actButton({ id }: Pick<Turn, "id">, news: PullRequestNews): ActButton | null {
  const { data: of } = ActNews.safeParse(newsKindOf(news));
  if (of === undefined) return null;
  const names = news.kind === "changes-requested" ? news.reviews.map(({ author }) => author) : namesIn(news);
  const shown = [...new Set(names)].map((name) => cut(name, NAME_MAX_CHARS));
  return { turnId: id, of, names: shown.length > NAMES_MAX ? [] : shown };
}

function namesIn(news: PullRequestNews): string[] {
  return newsKindOf(news) === "checks-failed" && news.kind === "checks-failed" ? news.names : [];
}

/**
 * What a post of news offers. Nothing if the pull request isn't open, or without a service of level
 * 2.
 */
export type NewsOffer = "act" | "no-rounds" | "none";

/** What news of a pull request offer while its job is at work, or not. */
export function offerOf(pullRequest: TurnPullRequest, news: PullRequestNews, isAtWork: boolean): NewsOffer {
  const { data: of } = ActNews.safeParse(newsKindOf(news));
  if (of === undefined || pullRequest.takesActs !== true) return "none";
  const reason = whyNot(pullRequest, of);
  if (reason !== null) return reason === "no-rounds" ? "no-rounds" : "none";
  return isAtWork ? "none" : "act";
}

/** Why the agent can't do this about a pull request now. Null if it can. */
export function whyNot({ latest }: TurnPullRequest, of: ActNews): "not-open" | "no-rounds" | null {
  if (latest.state !== "open" || !latest.isVisible) return "not-open";
  return ACTS[of] === "address" && latest.roundsLeft === 0 ? "no-rounds" : null;
}

/**
 * The request of a person who pressed a button under news. Its id comes from the turn, the pull
 * request's newest commit and the newest of such news, so that all presses about the same are one
 * request.
 */
export function actRequest(
  turn: Turn & { pullRequest: TurnPullRequest },
  { of, names }: ActButton,
  by: Pick<Request, "channelId" | "threadTs" | "userId" | "responseUrl" | "receivedAt">,
): Request {
  const { latest, news } = turn.pullRequest;
  const act = ACTS[of];
  const newest = news.findLast((each) => {
    const { data: kind } = ActNews.safeParse(newsKindOf(each));
    return kind !== undefined && ACTS[kind] === act;
  });
  const about = JSON.stringify([turn.id, act, latest.headSha, newest?.id ?? null]);
  const { teamId, project } = turn.request;
  return {
    id: `act:${hash("sha256", about).slice(0, 32)}`,
    from: "command",
    teamId,
    project,
    ...by,
    instructions: wordsOf(of, names, baseOf(latest.baseRef)),
    quoted: null,
    act,
    follows: { turnId: turn.id },
  };
}

/** What is asked for (untrusted, bounded). */
function wordsOf(of: ActNews, names: string[], base: string): string {
  switch (of) {
    case "changes-requested":
      return `Make the changes that ${names.length === 0 ? "reviewers" : listed(names)} asked for.`;
    case "checks-failed": {
      if (names.length === 0) return "Fix the failed checks.";
      return `Fix the failed ${names.length === 1 ? "check" : "checks"} ${listed(names.map(quoted))}.`;
    }
    case "conflicts":
      return `Bring the pull request up to date with ${base}.`;
  }
}

function quoted(name: string): string {
  return `"${name}"`;
}
