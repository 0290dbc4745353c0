import { z } from "zod";
import { FollowedPullRequest } from "../../shared/contract/pull-request.ts";
import { cut } from "../../shared/text/text.ts";
import { type Sent, SHOWN_CHARS, toTimestamp } from "../../shared/contract/reading.ts";
import type { JobQuestion } from "../../shared/contract/question.ts";
import { type JobTurn, MAX_LEFT_OUT, MAX_NOTES } from "../../shared/contract/turn.ts";
import { isJobId } from "../config/branches.ts";
import { isAnswered, type StoredQuestion, type StoredTurn } from "./job.ts";

/** A turn, as it is sent. */
export function toSentTurn(turn: StoredTurn): Sent<typeof JobTurn> {
  return {
    number: turn.number,
    status: turn.state,
    outcome: turn.outcome,
    reason: cutOrNull(turn.reason, SHOWN_CHARS.reason),
    ...(turn.cause === null ? {} : { cause: turn.cause }),
    summary: cutOrNull(turn.summary, SHOWN_CHARS.summary),
    // The last step is shown only while the turn is working.
    step: turn.state === "running" ? cutOrNull(turn.step, SHOWN_CHARS.line) : null,
    plan: turn.plan,
    usage: turn.usage,
    pullRequest: turn.pullRequest,
    branch: cutOrNull(turn.branch, SHOWN_CHARS.line),
    acceptedAt: toTimestamp(turn.acceptedAt),
    startedAt: timestampOrNull(turn.startedAt),
    endedAt: timestampOrNull(turn.endedAt),
    leftOut: shownPaths(turn.leftOut),
    answer: isAnswered(turn) ? cutOrNull(turn.summary, SHOWN_CHARS.summary) : null,
    ...turn.quality,
    checks: turn.quality.checks.map(({ findings, ...check }) => ({
      ...check,
      findings: findings.map((line) => cut(line, SHOWN_CHARS.finding)),
    })),
    notes: turn.quality.notes.slice(0, MAX_NOTES).map((note) => cut(note, SHOWN_CHARS.path)),
  };
}

/** A followed pull request, as it is sent. */
export function toSentPullRequest(
  pullRequest: FollowedPullRequest | null,
): Sent<typeof FollowedPullRequest> | null {
  return pullRequest && z.encode(FollowedPullRequest, pullRequest);
}

/** A question, as it is sent. */
export function toSentQuestion(question: StoredQuestion): Sent<typeof JobQuestion> {
  const { jobId: _, answer: __, askedAt, answeredAt, text, ...told } = question;
  const times = { askedAt: toTimestamp(askedAt), answeredAt: timestampOrNull(answeredAt) };
  return { ...told, text: cut(text, SHOWN_CHARS.reason), ...times };
}

/** The first paths, and how many more there are. */
function shownPaths(paths: readonly string[]): string[] {
  const shown = paths.slice(0, MAX_LEFT_OUT).map((path) => cut(path, SHOWN_CHARS.path));
  const more = paths.length - shown.length;
  return more === 0 ? shown : [...shown, `… and ${more} more`];
}

/** {@link cut}, where there is a text. */
export function cutOrNull(text: string | null, max: number): string | null {
  return text === null ? null : cut(text, max);
}

function timestampOrNull(atMs: number | null): string | null {
  return atMs === null ? null : toTimestamp(atMs);
}

/**
 * A place between jobs in a list. The newest jobs come first, and those of the same moment are
 * sorted by id.
 */
export type ListPlace = { createdAt: number; id: string };

/** The place before the newest job. */
export const LIST_START: ListPlace = { createdAt: Number.MAX_SAFE_INTEGER, id: "" };

/** Converts a place to a cursor: text that means nothing to clients. */
export function toCursor({ createdAt, id }: ListPlace): string {
  return Buffer.from(`${createdAt}.${id}`).toString("base64url");
}

/** The place in a cursor of {@link toCursor}. Null if the cursor is invalid. */
export function parseCursor(cursor: string): ListPlace | null {
  const [, createdAt, id = ""] = /^(\d{1,15})\.(.+)$/.exec(Buffer.from(cursor, "base64url").toString()) ?? [];
  return isJobId(id) ? { createdAt: Number(createdAt), id } : null;
}
