import { addAbortListener, once } from "node:events";
import { waitingReviewsText } from "../../shared/contract/waiting-reviews.ts";
import { within, type Logger } from "../../shared/machine/ports.ts";
import { DocsAgentError, messageOf } from "../../shared/errors.ts";
import type { TaskEnd } from "../../shared/queue/task-queue.ts";
import { detailsOf } from "../base/run-error.ts";
import { projectsBeside, type ServiceProject } from "../config/config.ts";
import type { FollowedJob } from "./followed-store.ts";
import {
  type OpenPull,
  RunnerLostError,
  RunnerStoppedError,
  type RunTurnInput,
  type RunTurnResult,
  type TurnLease,
} from "../runner/runner.ts";
import { newLease } from "../runners/lease.ts";
import type { Station } from "../runners/pool.ts";
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

/** How often it is noted at most until when a lease lasts. */
const NOTE_LEASE_EVERY_MS = 10_000;

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
  station: Station;
  lease: TurnLease;
  /** Call this once the attempt's end is written down, or can't be. */
  written: (isWritten: boolean) => void;
};

/** Where an attempt runs, and what ends it. `isTakenUp` if it runs there already. */
type Given = Pick<Attempt, "stopped" | "ended" | "station"> & { isTakenUp?: boolean };

/** Runs a turn that has its place, once, and ends it or says when it runs again. */
export async function runAttempt(
  deps: ServiceTaskDeps,
  key: TurnKey,
  project: ServiceProject,
  given: Given,
): Promise<TaskEnd> {
  const run = startAttempt(deps, key, project, given);
  if (run === null) return nextOfJob(deps, key.jobId);
  try {
    const end = await runToEnd(deps, run);
    run.written(true);
    return end;
  } finally {
    run.written(false);
  }
}

async function runToEnd(deps: ServiceTaskDeps, run: Attempt): Promise<TaskEnd> {
  const over = new AbortController();
  let result: RunTurnResult;
  try {
    result = await runAtStation(deps, run, over.signal);
    if (result.kind === "failed") for (const line of result.details ?? []) run.report.line(line);
  } catch (thrown) {
    return await endOfThrown(deps, run, thrown);
  } finally {
    over.abort();
    run.report.close();
    const { used: usage } = run.report;
    if (usage !== null) deps.measure({ kind: "used", project: run.project.id, usage });
  }
  return endOfResult(deps, run, result);
}

/** What runs elsewhere goes on while the service stops, and is taken up after the next start. */
class GoesOnError extends DocsAgentError {
  readonly code = "goes_on";
}

async function runAtStation(deps: ServiceTaskDeps, run: Attempt, over: AbortSignal): Promise<RunTurnResult> {
  const { runner, isElsewhere } = run.station;
  const running = runner.run(inputOf(deps, run, over));
  if (!isElsewhere) return await running;
  running.catch(() => {});
  const { promise: stops, reject } = Promise.withResolvers<never>();
  using _ = addAbortListener(run.stopped, () => {
    // Before anything else ends, so that the runner doesn't hear of it.
    run.station.leave(run.lease.id);
    run.written(false);
    reject(new GoesOnError("The turn goes on elsewhere."));
  });
  return await Promise.race([running, stops]);
}

/** Notes that the turn runs. Null if it was ended while it waited for its place. */
function startAttempt(
  deps: ServiceTaskDeps,
  key: TurnKey,
  project: ServiceProject,
  { isTakenUp = false, ...given }: Given,
): Attempt | null {
  const { store, clock } = deps;
  const turn = store.turn(key);
  if (turn === null) return null;
  const { promise, resolve: written } = Promise.withResolvers<boolean>();
  const lease = leaseOf(deps, turn, isTakenUp, promise);
  if (!isTakenUp && !store.start(key, clock.now(), { runner: given.station.id, ...lease })) return null;
  const { attempts: attempt } = store.turn(key) ?? turn;
  const logger = deps.logger.child({ project: project.id, job_id: key.jobId, turn: key.number });
  const runsAgain = turn.startedAt !== null;
  const begins = isTakenUp ? "turn is taken up" : runsAgain ? "turn starts again" : "turn starts";
  logger.info({ attempt, runner: given.station.id }, begins);
  if (!runsAgain) {
    deps.measure({ kind: "turn-starts", project: project.id, waitedMs: clock.now() - turn.acceptedAt });
  }
  // What a runner reports is what its own attempt has used. Calls of models are counted here, anew.
  const before = isTakenUp && project.models.length === 0 ? { ...turn, usage: turn.leaseUsed } : turn;
  const report = new ReportWriter(clock, before, (now) => store.setReport(key, now));
  // An attempt that was ended by a stop of the service doesn't count.
  if (runsAgain && !isTakenUp) report.line(attempt > 1 ? `attempt ${attempt}` : "starts again");
  return { key, turn: before, project, attempt, report, logger, lease, written, ...given };
}

/** A new lease, or the one that an attempt has which goes on. */
function leaseOf(
  { store, clock }: ServiceTaskDeps,
  { jobId, number, leaseAttempt, lease }: TurnRow,
  isTakenUp: boolean,
  written: Promise<boolean>,
): TurnLease {
  let notedMs = -Infinity;
  const onRenewed = (untilMs: number) => {
    // With each report would be five times a second.
    if (clock.monotonicMs() - notedMs < NOTE_LEASE_EVERY_MS) return;
    notedMs = clock.monotonicMs();
    store.renew({ jobId, number }, untilMs);
  };
  const renewed = { onRenewed, written };
  if (!isTakenUp) return { ...newLease(`${jobId}.${number}.${leaseAttempt + 1}`), ...renewed };
  const tokenHash = Buffer.from(lease ?? "", "hex");
  return { id: `${jobId}.${number}.${leaseAttempt}`, token: null, tokenHash, ...renewed };
}

/** The turn as the runner gets it. What it asks people isn't asked any more after `over`. */
function inputOf(
  { store, projects, attachments, questions, notes, measure }: ServiceTaskDeps,
  { key, turn, project, report, logger, stopped, ended, station, lease }: Attempt,
  over: AbortSignal,
): RunTurnInput {
  const { agent } = project;
  const answerMinutes = agent.kind === "acp" ? agent.answerTimeLimitMinutes : 0;
  const signal = station.isElsewhere ? ended : AbortSignal.any([stopped, ended]);
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
    notes: notes.of(key.jobId),
    lease,
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
  const { key, attempt, report, logger, stopped, ended, station } = run;
  if (thrown instanceof GoesOnError) return againAfterStop(deps);
  if (ended.aborted) return nextOfJob(deps, key.jobId);
  if (stopped.aborted || thrown instanceof RunnerStoppedError) return takeBack(deps, run);
  if (thrown instanceof RunnerLostError) {
    const { by } = thrown;
    await write(deps, run, () => deps.store.lose(key, by, BROKE_DOWN, station.isElsewhere));
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
  const isService = run.stopped.aborted || deps.pool.closed.aborted;
  run.logger.info(
    {},
    isService ? "turn stopped: it runs again after the next start" : "turn stopped: it runs again",
  );
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
async function stopComes({ pool, clock }: ServiceTaskDeps): Promise<boolean> {
  if (pool.closed.aborted) return true;
  await within(clock, STOP_COMES_WITHIN_MS, once(pool.closed, "abort"), null);
  return pool.closed.aborted;
}
