import { hash } from "node:crypto";
import { z } from "zod";
import type { TurnAct } from "../../../shared/contract/turn.ts";
import { cut, listed } from "../../../shared/text/text.ts";
import { newsKindOf, type ThreadNews } from "../turn/pull-request-news.ts";
import type { TurnPullRequest } from "../turn/turn-pull-request.ts";
import type { Request } from "../turn/request.ts";
import type { Turn } from "../turn/turn.ts";
import { baseOf } from "../words/pull-request-text.ts";

/** The kinds of news that ask for something that the agent can do. */
export const ActNews = z.enum(["changes-requested", "checks-failed", "conflicts"]);
export type ActNews = z.infer<typeof ActNews>;

const ACTS = {
  "changes-requested": "address",
  "checks-failed": "address",
  conflicts: "update",
} as const satisfies Record<ActNews, TurnAct>;

/** The kind of news if the agent can do something about it, or undefined. */
function actNewsOf(news: ThreadNews): ActNews | undefined {
  return ActNews.safeParse(newsKindOf(news)).data;
}

/** The news that a button is about, and whom or what its request names (untrusted, bounded). */
export const ActButton = z.object({ turnId: z.string(), of: ActNews, names: z.array(z.string()) });
export type ActButton = z.infer<typeof ActButton>;

const NAMES_MAX = 3;
const NAME_MAX_CHARS = 40;

/** The button that goes with news of a turn's pull request. Null if there is none for them. */
export function actButton({ id }: Pick<Turn, "id">, news: ThreadNews): ActButton | null {
  const of = actNewsOf(news);
  if (of === undefined) return null;
  const names = namesIn(news);
  const shown = [...new Set(names)].map((name) => cut(name, NAME_MAX_CHARS));
  return { turnId: id, of, names: shown.length > NAMES_MAX ? [] : shown };
}

function namesIn(news: ThreadNews): string[] {
  if (news.kind === "changes-requested") return news.reviews.map(({ author }) => author);
  return news.kind === "checks-failed" && newsKindOf(news) !== "conflicts" ? news.names : [];
}

/**
 * What a post of news offers: a button, the words that the rounds are over, or nothing. It is
 * nothing if the pull request isn't open, or without a service of level 2.
 */
export type NewsOffer = "act" | "no-rounds" | "none";

/**
 * Says what a post of news offers: nothing, if bots alone ask for something. If the agent is at
 * work, what is asked for comes after that.
 */
export function offerOf(pullRequest: TurnPullRequest, news: ThreadNews): NewsOffer {
  const of = actNewsOf(news);
  if (of === undefined || pullRequest.takesActs !== true || isOfBots(news)) return "none";
  const reason = whyNot(pullRequest, of);
  if (reason === "no-rounds") return reason;
  return reason === null ? "act" : "none";
}

function isOfBots(news: ThreadNews): boolean {
  return news.kind === "changes-requested" && news.reviews.every(({ isBot }) => isBot === true);
}

/** Returns why the agent can't do this about a pull request now, or null if it can. */
export function whyNot(
  { latest, conflictsSince }: TurnPullRequest,
  of: ActNews,
): "not-open" | "not-visible" | "no-rounds" | "no-conflicts" | "checks-passed" | null {
  if (latest.state !== "open") return "not-open";
  if (!latest.isVisible) return "not-visible";
  if (of === "conflicts" && conflictsSince === undefined && latest.mergeable === true) return "no-conflicts";
  if (of === "checks-failed" && latest.checks.state === "passed") return "checks-passed";
  return ACTS[of] === "address" && latest.roundsLeft === 0 ? "no-rounds" : null;
}

/**
 * The request of a person who pressed a button under news. Its id comes from the turn, the pull
 * request's newest commit and the newest of such news, so that all presses about the same are one
 * request. `inVain` is how many of them came to nothing: a press after that is a new one.
 */
export function actRequest(
  turn: Turn & { pullRequest: TurnPullRequest },
  { of, names }: ActButton,
  by: Pick<Request, "channelId" | "threadTs" | "userId" | "responseUrl" | "receivedAt">,
  inVain: number,
): Request {
  const { latest, news } = turn.pullRequest;
  const act = ACTS[of];
  const newest = news.findLast((each) => {
    const kind = actNewsOf(each);
    return kind !== undefined && ACTS[kind] === act;
  });
  const about = JSON.stringify([turn.id, act, latest.headSha, newest?.id ?? null, inVain]);
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
