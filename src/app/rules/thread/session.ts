import { z } from "zod";
import { prLinkOf } from "../turn/outcome.ts";
import type { TurnPullRequest } from "../turn/turn-pull-request.ts";
import { isAsking, type Turn } from "../turn/turn.ts";

/**
 * The statuses of a thread's session, by which Slack shows the work of an app that is declared as
 * an agent: docs.slack.dev/ai/agent-sessions
 */
export const SessionStatus = z.enum(["processing", "suspended", "active", "closed"]);
export type SessionStatus = z.infer<typeof SessionStatus>;

/**
 * The status of the session of a thread with these turns: `suspended` while the agent asks,
 * `processing` while a turn runs, `closed` once the last that happened is the end of a pull
 * request, and otherwise `active`.
 */
export function sessionStatusOf(turns: readonly Turn[]): SessionStatus {
  if (turns.some(isAsking)) return "suspended";
  if (turns.some(isUnderWay)) return "processing";
  return isOver(turns) ? "closed" : "active";
}

/**
 * True while a turn runs or is sent. While the service takes nothing, or it is stopped, it isn't.
 */
function isUnderWay({ stage, stop }: Turn): boolean {
  if (stage.name === "ended" || stop !== undefined) return false;
  return stage.name === "watching" || stage.waitingSince === null;
}

/** A turn that ends after its pull request, and leaves no other one, doesn't open it again. */
function isOver(turns: readonly Turn[]): boolean {
  const followed = turns.flatMap(({ pullRequest }) => (pullRequest === undefined ? [] : [pullRequest]));
  const last = Math.max(...followed.map(endOf));
  const urls = new Set(followed.map(({ url }) => url));
  return (
    Number.isFinite(last) &&
    turns.every(({ stage, request }) => {
      if (stage.name !== "ended") return false;
      const link = prLinkOf(stage.outcome);
      return stage.at <= last || (link === null ? request.act !== undefined : urls.has(link));
    })
  );
}

/** When it was merged or closed, epoch milliseconds. Infinity if it wasn't. */
function endOf({ latest, news, changedAt }: TurnPullRequest): number {
  if (latest.state === "open") return Infinity;
  return news.findLast(({ kind }) => kind === latest.state)?.at ?? changedAt;
}
