import { z } from "zod";
import { FollowedPullRequest } from "../../shared/contract/pull-request.ts";
import { cut } from "../../shared/text/text.ts";
import { type Sent, SHOWN_CHARS, toTimestamp } from "../../shared/contract/reading.ts";
import type { JobQuestion } from "../../shared/contract/question.ts";
import { Held, type JobTurn, MAX_LEFT_OUT, MAX_NOTES } from "../../shared/contract/turn.ts";
import type { JobRow, QuestionRow, TurnRow } from "./rows.ts";
import type { ContractJob } from "../../shared/contract/job.ts";
import { MAX_ROUNDS } from "./acts.ts";

/** A job, as it is sent to a client that knows only the contract. */
export function toSentJob(job: JobRow): Sent<typeof ContractJob> {
  return {
    id: job.id,
    status: job.status,
    source: { repository: job.repository, ref: job.ref },
    model: job.model,
    prLink: job.prLink,
    createdAt: toTimestamp(job.createdAt),
    archivedAt: job.archivedAt === null ? null : toTimestamp(job.archivedAt),
  };
}

/** True if the turn intentionally changed nothing. Its summary is the answer. */
export function isAnswered({ outcome, reason }: TurnRow): boolean {
  return outcome === "no-changes" && reason === null;
}

/** A turn, as it is sent. */
export function toSentTurn(turn: TurnRow): Sent<typeof JobTurn> {
  return {
    number: turn.number,
    ...(turn.kind === "message" ? {} : { kind: turn.kind }),
    ...(turn.isUnasked && { isUnasked: true }),
    status: turn.state,
    outcome: turn.outcome,
    reason: cutOrNull(turn.reason, SHOWN_CHARS.reason),
    ...(turn.state === "waiting" && turn.held !== null && { held: z.encode(Held, turn.held) }),
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

/** A job's followed pull request, as it is sent. */
export function toSentPullRequest({
  pullRequest,
  rounds,
  overlaps,
}: Pick<JobRow, "pullRequest" | "rounds" | "overlaps">): Sent<typeof FollowedPullRequest> | null {
  if (pullRequest === null) return null;
  if (pullRequest.state !== "open") return z.encode(FollowedPullRequest, pullRequest);
  const roundsLeft = Math.max(0, MAX_ROUNDS - rounds);
  const others = overlaps.length === 0 ? {} : { overlaps };
  return z.encode(FollowedPullRequest, { ...pullRequest, roundsLeft, ...others });
}

/** A question, as it is sent. */
export function toSentQuestion(question: QuestionRow): Sent<typeof JobQuestion> {
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
