import { once } from "node:events";
import { waitingReviewsText } from "../../shared/contract/waiting-reviews.ts";
import { within, type Logger } from "../../shared/machine/ports.ts";
import { messageOf } from "../../shared/errors.ts";
import type { TaskEnd } from "../../shared/queue/task-queue.ts";
import { detailsOf } from "../base/run-error.ts";
import { projectsBeside, type ServiceProject } from "../config/config.ts";
import type { FollowedJob } from "./followed-store.ts";
import { type OpenPull, RunnerLostError, type RunTurnInput, type RunTurnResult } from "../runner/runner.ts";
import { concludeTurn, failedAttempt, nextOfJob } from "./end-turn.ts";
import type { TurnRow, TurnKey } from "./rows.ts";
import { waitingReviews } from "./waiting-reviews.ts";
import { ReportWriter } from "./report-writer.ts";
import type { ServiceTaskDeps } from "./service-task-deps.ts";

/** Why a turn that its service or runner left behind has failed, if nothing else is known. */
export const BROKE_DOWN = "The service broke down while it worked on this.";
/** How soon, and how seldom at most, it is tried again to write how a turn ended. */
const WRITE_AGAIN_MS = { first: 1000, max: 60_000 };
/**
 * If the service and its agents are stopped together, the service's signal may arrive this long
 * after an agent's end.
 */
const STOP_COMES_WITHIN_MS = 1000;

/** The most open pull requests that a turn is compared with. */
const OPEN_PULLS_MAX = 20;

/** One run of a turn that has its place. */
type Attempt = {
  key: TurnKey;
  turn: TurnRow;
  project: ServiceProject;
  /** Counted from 1. */
  attempt: number;
  report: ReportWriter;
  logger: Logger;
  /** Aborts when the service stops. */
  stopped: AbortSignal;
  /** Aborts when the turn was ended. */
  ended: AbortSignal;
};

/** Runs a turn that has its place, once, and ends it or says when it runs again. */
export async function runAttempt(
  deps: ServiceTaskDeps,
  key: TurnKey,
  project: ServiceProject,
  signals: Pick<Attempt, "stopped" | "ended">,
): Promise<TaskEnd> {
  const run = startAttempt(deps, key, project, signals);
  if (run === null) return nextOfJob(deps, key.jobId);
  const over = new AbortController();
  let result: RunTurnResult;
  try {
    result = await deps.runner.run(inputOf(deps, run, over.signal));
    if (result.kind === "failed") for (const line of result.details ?? []) run.report.line(line);
  } catch (thrown) {
    return await endOfThrown(deps, run, thrown);
  } finally {
    over.abort();
    run.report.close();
    const { used: usage } = run.report;
    if (usage !== null) deps.measure({ kind: "used", project: project.id, usage });
  }
  return endOfResult(deps, run, result);
}

/** Notes that the turn runs. Null if it was ended while it waited for its place. */
function startAttempt(
  deps: ServiceTaskDeps,
  key: TurnKey,
  project: ServiceProject,
  signals: Pick<Attempt, "stopped" | "ended">,
): Attempt | null {
  const { store, clock } = deps;
  const turn = store.turn(key);
  if (turn === null || !store.start(key, clock.now())) return null;
  const { attempts: attempt } = store.turn(key) ?? turn;
  const logger = deps.logger.child({ project: project.id, job_id: key.jobId, turn: key.number });
  const runsAgain = turn.startedAt !== null;
  logger.info({ attempt }, runsAgain ? "turn starts again" : "turn starts");
  if (!runsAgain) {
    deps.measure({ kind: "turn-starts", project: project.id, waitedMs: clock.now() - turn.acceptedAt });
  }
  const report = new ReportWriter(clock, turn, (now) => store.setReport(key, now));
  // An attempt that was ended by a stop of the service doesn't count.
  if (runsAgain) report.line(attempt > 1 ? `attempt ${attempt}` : "starts again");
  return { key, turn, project, attempt, report, logger, ...signals };
}

/** The turn as the runner gets it. What it asks people isn't asked any more after `over`. */
function inputOf(
  { store, projects, attachments, questions, measure }: ServiceTaskDeps,
  { key, turn, project, report, logger, stopped, ended }: Attempt,
  over: AbortSignal,
): RunTurnInput {
  const { agent } = project;
  const answerMinutes = agent.kind === "acp" ? agent.answerTimeLimitMinutes : 0;
  const signal = AbortSignal.any([stopped, ended]);
  return {
    jobId: key.jobId,
    number: key.number,
    kind: turn.kind,
    prompt: turn.prompt,
    words: turn.words,
    requester: turn.requester,
    acceptedAt: turn.acceptedAt,
    pullRequest: store.pullRequestOf(key.jobId),
    closedSeenAt: store.followed.closedSeenAt(key.jobId),
    openPulls: openPullsOf(store.followed.of(projectsBeside(project, projects.values())), key, project),
    authors: turn.authors,
    earlierTurns: store.earlierTurns(key),
    attachments: store
      .attachments(key)
      .map(({ id, ...attachment }) => ({ ...attachment, path: attachments.pathOf(id) })),
    project,
    usedBefore: turn.usage,
    signal,
    report: ({ agentRuns, isRound, brief, branch, pushed, ...shown }) => {
      report.add(shown);
      if (agentRuns === true) measure({ kind: "agent-starts", project: project.id });
      try {
        store.note(key, { agentRuns, isRound, brief, branch, pushed });
      } catch (thrown) {
        // The turn goes on anyway.
        logger.warn({ error: messageOf(thrown) }, "how the turn goes can't be written down");
      }
    },
    ask: questions.forRun(
      key,
      { limitMs: answerMinutes * 60_000, onProgress: (line) => report.line(line) },
      AbortSignal.any([signal, over]),
    ),
  };
}

/** The open pull requests of other jobs into the project's base branch, the newest first. */
function openPullsOf(
  followed: readonly FollowedJob[],
  { jobId }: TurnKey,
  { baseBranch }: ServiceProject,
): OpenPull[] {
  return followed
    .toSorted((one, other) => other.beganAt - one.beganAt)
    .flatMap(({ jobId: its, link, record }) => {
      if (its === jobId || record?.state !== "open" || !record.isVisible) return [];
      if ((record.baseRef ?? baseBranch) !== baseBranch) return [];
      return [{ url: link, number: record.number, headSha: record.headSha }];
    })
    .slice(0, OPEN_PULLS_MAX);
}

/** Ends the attempt with what the runner threw: the turn runs again, or it has failed. */
async function endOfThrown(deps: ServiceTaskDeps, run: Attempt, thrown: unknown): Promise<TaskEnd> {
  const { key, attempt, report, logger, stopped, ended } = run;
  if (ended.aborted) return nextOfJob(deps, key.jobId);
  if (stopped.aborted) return takeBack(deps, run);
  if (thrown instanceof RunnerLostError) {
    const { by } = thrown;
    await write(deps, run, () => deps.store.lose(key, by, BROKE_DOWN));
    logger.warn({ by }, "turn lost its runner: it runs again");
    return againAfterStop(deps);
  }
  for (const line of detailsOf(thrown)) report.line(line);
  return write(deps, run, () => failedAttempt(deps, key, attempt, thrown));
}

/** Ends the turn, unless its agent was only stopped together with the service. */
async function endOfResult(deps: ServiceTaskDeps, run: Attempt, result: RunTurnResult): Promise<TaskEnd> {
  const isCutOff = result.kind === "failed" && result.isCutOff === true;
  if (isCutOff && (await stopComes(deps))) return takeBack(deps, run);
  return write(deps, run, () => concludeTurn(deps, run.key, withWaitingReviews(deps, run, result)));
}

/** The result with a note on other pull requests, if too many wait for a review. */
function withWaitingReviews(
  deps: ServiceTaskDeps,
  { key: { jobId }, project }: Attempt,
  result: RunTurnResult,
): RunTurnResult {
  if (result.kind !== "pull-request") return result;
  const waiting = waitingReviews(deps, project, jobId);
  if (waiting === null) return result;
  const note = waitingReviewsText(waiting, deps.clock.now(), "other ");
  return { ...result, notes: [...(result.notes ?? []), note] };
}

async function takeBack(deps: ServiceTaskDeps, run: Attempt): Promise<TaskEnd> {
  await write(deps, run, () => deps.store.takeBack(run.key));
  run.logger.info({}, "turn stopped: it runs again after the next start");
  return againAfterStop(deps);
}

/**
 * Writes how the run went. If the disk is full, it has room again once the runner has removed the
 * turn's folders, which it does after the run. So this tries again, and the agent doesn't run again
 * because of it. Rejects only if the service stops.
 */
async function write<T>({ clock }: ServiceTaskDeps, { stopped, logger }: Attempt, act: () => T): Promise<T> {
  const stop: Promise<unknown> = stopped.aborted ? Promise.resolve() : once(stopped, "abort");
  for (let waitMs = WRITE_AGAIN_MS.first; ; waitMs = Math.min(waitMs * 2, WRITE_AGAIN_MS.max)) {
    try {
      return act();
    } catch (thrown) {
      stopped.throwIfAborted();
      logger.error({ error: messageOf(thrown) }, "how a turn went can't be written down; trying again");
      await within(clock, waitMs, stop, null);
    }
  }
}

/** The service is stopping. The turn waits for the next start. */
export function againAfterStop({ clock }: ServiceTaskDeps): TaskEnd {
  return { kind: "again", dueAt: clock.now() + STOP_COMES_WITHIN_MS };
}

/**
 * Whoever stops the service may also stop its agents, and even before it. Service managers signal
 * all processes.
 */
async function stopComes({ places, clock }: ServiceTaskDeps): Promise<boolean> {
  if (places.closed.aborted) return true;
  await within(clock, STOP_COMES_WITHIN_MS, once(places.closed, "abort"), null);
  return places.closed.aborted;
}
