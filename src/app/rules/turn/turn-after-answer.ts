import type { KnownJob, KnownTurn } from "../known-job.ts";
import { type JobServiceSuccess, speaks } from "../ports/job-service.ts";
import { type OutcomeKind, outcomeKindOf } from "./outcome.ts";
import { questionsAfter, reportedQuestions } from "../thread/question.ts";
import {
  endTurn,
  isAsking,
  leftAs,
  pauseAfter,
  type Turn,
  turnNumber,
  UNSEEN_MS,
  type Watching,
  watchingFrom,
  withQuestions,
} from "./turn.ts";
import { isBefore, isFollowedBy, type KeptTurn, keptTurn, ownTurn, progressOf } from "./reported-turn.ts";

/**
 * Updates a watched turn from an answer about its job, and ends it if the answer says so. `isLast`
 * is true if the job had been sent no later turn when it was asked. Returns the same object if
 * nothing changed.
 */
export function turnAfterAnswer(turn: Turn, answer: JobServiceSuccess, now: number, isLast = true): Turn {
  const { stage } = turn;
  if (stage.name !== "watching") return turn;
  const { job } = answer;
  const number = turnNumber(turn);
  const reported = ownTurn(answer, number);
  const isEarlierTurn =
    job.status !== "archived" &&
    (isBefore(answer, number) || (reported === null && mayBeEarlierTurn(stage, job, now)));
  const hasLater = !isLast || isFollowedBy(answer, number);
  const isPassed = keptTurn(reported) === undefined && hasLater;
  const passed = isPassed && !isEarlierTurn ? endOfPassed(turn, stage, { job, reported }, now) : null;
  if (passed !== null) return passed;
  const isOwnEnd = !isEarlierTurn && (!isPassed || job.status === "archived");
  const kind = isOwnEnd ? endOf(turn, job, reported) : null;
  if (kind !== null) {
    const report = keptTurn(reported);
    const isUnsure = reported === null && stage.unseen !== undefined && stage.unseen.leftAs === leftAs(job);
    return endTurn(turn, kind, now, {
      job,
      ...(report && { told: report }),
      stoppedBy: stopperOf(turn, kind, report),
      isUnsure: isUnsure || undefined,
      ...(speaks(answer, 1) && { hasDiff: true, canClose: true }),
    });
  }
  // Nobody answers a turn that is being stopped.
  const asked = isEarlierTurn || turn.stop !== undefined ? null : reportedQuestions(answer, number);
  const withAsked = asked === null ? turn : withQuestions(turn, questionsAfter(turn.questions ?? [], asked));
  const isAskedNow = asked?.some(({ answeredAt }) => answeredAt === null) === true;
  const progress = progressOf(reported, now, isAskedNow);
  // The time in which the service held the turn back doesn't count.
  const isLetGo = stage.progress?.held !== undefined && progress?.held === undefined;
  const begun = isLetGo ? watchingFrom(now) : stage;
  const pause = pauseAfter(begun.pause, progress?.isWaiting !== true && !isAsking(withAsked), now);
  const unseen = job.status === "active" ? undefined : stage.unseen;
  const isOthersEnd = isPassed && !isEarlierTurn && job.status !== "active";
  const jobEnd = isOthersEnd ? (stage.jobEnd ?? { job, seenAt: now }) : undefined;
  const next: Watching = { ...begun, troubleSince: null, progress, unseen, pause, jobEnd };
  const isSame = JSON.stringify(next) === JSON.stringify(stage) && withAsked === turn;
  return isSame && turn.job !== null ? turn : { ...withAsked, job: turn.job ?? job, stage: next };
}

/**
 * How a turn ended that may be the one that the job's record shows. If the record alone says so, a
 * turn whose cancel was taken was stopped, whatever the job has come to.
 */
function endOf({ stop }: Turn, job: KnownJob, reported: KnownTurn | null): OutcomeKind | null {
  const kind = outcomeKindOf(job, reported);
  const isByRecord = kind !== null && kind !== "archived" && keptTurn(reported) === undefined;
  return isByRecord && stop?.isTaken === true ? "failed" : kind;
}

/**
 * Ends a turn whose job has been sent a later one, if nobody says how this one ended. The job's
 * status is the later turn's, unless the job went on after it.
 */
function endOfPassed(
  turn: Turn,
  { jobEnd }: Watching,
  { job, reported }: { job: KnownJob; reported: KnownTurn | null },
  now: number,
): Turn | null {
  if (job.status === "archived") return null;
  const isReportedEnd = reported?.status === "ended";
  if ((isReportedEnd || job.status !== "active") && turn.stop?.isTaken === true) {
    return endTurn(turn, "failed", now, { stoppedBy: turn.stop.userId });
  }
  if (jobEnd !== undefined && reported === null && leftAs(job) !== leftAs(jobEnd.job)) {
    const kind = outcomeKindOf(jobEnd.job, null);
    return kind === null ? null : endTurn(turn, kind, now, { job: jobEnd.job });
  }
  const isLongOver = job.status !== "active" && jobEnd !== undefined && now >= jobEnd.seenAt + UNSEEN_MS;
  return isReportedEnd || isLongOver ? endTurn(turn, "unknown", now, { isPassed: true }) : null;
}

/**
 * Like {@link turnAfterAnswer}, for an answer that isn't a poll's. If only polls can tell the turn
 * from the job's later ones, which wait for its end, it is left to them.
 */
export function turnAfterOwnAnswer(
  turn: Turn,
  answer: JobServiceSuccess,
  now: number,
  isLast: boolean,
): Turn {
  const isKnown = isLast || ownTurn(answer, turnNumber(turn)) !== null;
  return isKnown ? turnAfterAnswer(turn, answer, now) : turn;
}

/**
 * Updates the turn once the service has accepted the cancel. It may end now or with a later poll.
 */
export function turnAfterCancel(turn: Turn, answer: JobServiceSuccess, now: number, isLast = true): Turn {
  if (turn.stage.name !== "watching" || turn.stop === undefined) return turn;
  return turnAfterOwnAnswer({ ...turn, stop: { ...turn.stop, isTaken: true } }, answer, now, isLast);
}

/**
 * Who stopped a turn that ended like this. If the service doesn't report on turns, it counts as
 * stopped once the service has accepted the cancel.
 */
function stopperOf({ stop }: Turn, kind: OutcomeKind, report: KeptTurn | undefined): string | undefined {
  const isStopped = report === undefined ? stop?.isTaken === true : report.outcome === "cancelled";
  return isStopped && kind === "failed" ? stop?.userId : undefined;
}

function mayBeEarlierTurn({ unseen }: Watching, job: KnownJob, now: number): boolean {
  if (unseen === undefined || now >= unseen.until || job.status === "active") return false;
  return unseen.leftAs === null || unseen.leftAs === leftAs(job);
}
