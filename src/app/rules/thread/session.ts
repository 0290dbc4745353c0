import { z } from "zod";
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

/** What a button asked for doesn't keep it open if it ends after the pull request. */
function isOver(turns: readonly Turn[]): boolean {
  const ends = turns.flatMap(({ pullRequest }) => (pullRequest === undefined ? [] : [endOf(pullRequest)]));
  const last = Math.max(...ends);
  return (
    Number.isFinite(last) &&
    turns.every(({ stage, request }) => {
      return stage.name === "ended" && (stage.at <= last || request.act !== undefined);
    })
  );
}

/**
 * When it was merged or closed the last time, epoch milliseconds. Infinity if it wasn't. That it is
 * closed is news only once.
 */
function endOf({ latest, news, changedAt }: TurnPullRequest): number {
  if (latest.state === "open") return Infinity;
  if (latest.state === "closed") return changedAt;
  return news.findLast(({ kind }) => kind === "merged")?.at ?? changedAt;
}
