import type { PollState } from "../core/job/watching.ts";
import {
  showsEarlierTurn,
  isLate,
  waitForOwnTurn,
  expireTurn,
  nextPollAt,
  pollStateAfter,
  turnAfterPoll,
  type Polled,
} from "../core/job/watching.ts";
import { historyAppends, historyOf, mayBeOverdue, usualOf, withOverdue } from "../core/turn/overdue.ts";
import { isOnlyStepNew } from "../core/text/status-text.ts";
import { faultForLog, type JobServiceAnswer } from "../core/ports/job-service.ts";
import type { JobRecord } from "../core/ports/records.ts";
import type { NewTask, Step, Task } from "../core/ports/task-queue.ts";
import { isOpen } from "../core/job/question.ts";
import { endTurn, type Turn } from "../core/turn/turn.ts";
import { changesOf } from "../decisions/after-change.ts";
import type { TaskDeps } from "../decisions/deps.ts";
import { askJobService } from "./project-gate.ts";
import { readTask, turnPayload } from "../decisions/payload.ts";
import { stepRefreshTask } from "./refresh.ts";
import { RecordLostError } from "../decisions/turn-writes.ts";
import { WatchPayload } from "../decisions/new-tasks.ts";

/**
 * How many of a job's open turns a poll looks at, oldest first. A job works on its turns one after
 * the other.
 */
const POLLED_TURNS_MAX = 100;

/**
 * Polls the job once, ends the turns that have ended, and comes again while one hasn't. Safe to
 * repeat.
 */
export async function watch(deps: TaskDeps, task: Task): Promise<Step> {
  const { payload } = readTask(WatchPayload, task);
  const job = await deps.records.job.get(payload.jobKey);
  if (job === undefined) {
    throw new RecordLostError(`There is no readable record of job ${payload.jobKey}.`);
  }
  const now = deps.clock.now();
  const turns = await Promise.all(
    job.openTurnIds.slice(0, POLLED_TURNS_MAX).map((id) => deps.records.turn.get(id)),
  );
  const open = turns.flatMap((turn) => (turn?.stage.name === "watching" ? [turn] : []));
  if (turns.length > 0 && turns.every((turn) => turn === undefined)) {
    throw new RecordLostError(`There is no readable record of a turn of job ${payload.jobKey}.`);
  }
  const isWatched = open.length > 0;
  const jobService = deps.jobServices.of(job.project)?.jobService;
  if (jobService === undefined && isWatched) {
    deps.logger.error({ project: job.project.name }, "the project of this job is no longer configured");
  }
  // Polls even at the deadline, because the job may have ended while this app was off.
  const answer =
    isWatched && jobService !== undefined
      ? await askJobService(deps, job.project, () => jobService.getJob(job.id))
      : null;
  if (answer !== null && !answer.ok) {
    deps.logger.warn({ fault: faultForLog(answer.fault) }, "poll did not succeed");
  }
  const usual =
    answer?.ok === true && open.some((turn) => mayBeOverdue(turn, now))
      ? usualOf(await deps.series.of(historyOf(job.project)))
      : null;
  // A turn that began later, such as a message, may be younger than the answer.
  const asked = new Map(open.map(({ id, watch }) => [id, watch]));
  const change = (turn: Turn, state: PollState, earlier: readonly Polled[]): Turn => {
    if (turn.stage.name !== "watching") return turn;
    if (jobService === undefined) return endTurn(turn, "rejected", now, { reason: "project" });
    const isAsked = asked.get(turn.id) === turn.watch;
    const polled =
      answer === null || !isAsked ? turn : turnAfterPoll(turn, state, answer, deps.clock.now(), earlier);
    if (polled.stage.name === "ended") return polled;
    // Two polls in a row must be past the deadline, because the clock may be wrong for a moment.
    const next = payload.state.isLate === true ? expireTurn(polled, now, deps.polling) : polled;
    return isAsked ? withOverdue(next, usual, now) : next;
  };
  const state: PollState = {
    ...(answer === null ? payload.state : pollStateAfter(payload.state, answer, deps.clock.now())),
    isLate: open.some((turn) => isLate(turn, now, deps.polling)),
  };
  const steps = new Map<string, NewTask>();
  const polled: Polled[] = [];
  for (const turn of open) {
    const next = change(turn, state, polled);
    polled.push({ turn, next });
    if (isSeenAtWork(next, answer)) showWork(deps, next);
    const task = await stepRefreshTask(deps, next);
    if (task !== undefined) steps.set(turn.id, task);
  }
  return stepAfter(deps, { ...payload, state }, { job, change, answer, steps });
}

/** True if the agent is working on the turn and isn't waiting for an answer. */
function isSeenAtWork({ stage, stop, questions = [] }: Turn, answer: JobServiceAnswer | null): boolean {
  if (answer === null || !answer.ok || answer.job.status !== "active") return false;
  if (stage.name !== "watching" || stop !== undefined) return false;
  return stage.progress?.isWaiting !== true && !questions.some(isOpen);
}

function showWork({ workStatus }: TaskDeps, { request: { teamId }, delivery }: Turn): void {
  const { channelId, threadTs } = delivery;
  if (threadTs !== null) workStatus.show({ teamId, channelId, threadTs });
}

function stepAfter(
  deps: TaskDeps,
  payload: WatchPayload,
  polled: {
    job: JobRecord;
    change: (turn: Turn, state: PollState, earlier: readonly Polled[]) => Turn;
    answer: JobServiceAnswer | null;
    /** Updates, by turn, of messages that lack only a step and for which there is time. */
    steps: ReadonlyMap<string, NewTask>;
  },
): Step {
  const { job, change, answer, steps } = polled;
  const { state } = payload;
  const now = deps.clock.now();
  const retryAfterMs = answer !== null && !answer.ok ? (answer.fault.retryAfterMs ?? 0) : 0;
  const random = deps.random();
  return (read) => {
    const turns: Polled[] = [];
    for (const turn of job.openTurnIds.slice(0, POLLED_TURNS_MAX).flatMap((id) => read("turn", id) ?? [])) {
      turns.push({ turn, next: change(turn, state, turns) });
    }
    const ending = turns.filter(({ turn, next }) => next !== turn && next.stage.name === "ended");
    const coming = job.openTurnIds.slice(POLLED_TURNS_MAX, POLLED_TURNS_MAX + ending.length);
    for (const turn of coming.flatMap((id) => read("turn", id) ?? [])) {
      const isEarlierTurn = answer?.ok === true && showsEarlierTurn(turn, turns);
      turns.push({ turn, next: isEarlierTurn ? waitForOwnTurn(turn, answer, now) : turn });
    }
    const changed = turns.filter(({ turn, next }) => next !== turn).map(({ next }) => next);
    const [first] = changed;
    // A task that was added before the thread existed doesn't name it.
    const logger =
      first === undefined || payload.thread !== null
        ? deps.logger
        : deps.logger.child({ thread: turnPayload(first).thread });
    const { writes, adds } = changesOf({ ...deps, logger }, read, changed);
    const watched = turns.map(({ next }) => next).filter((turn) => turn.stage.name === "watching");
    const at = { now, retryAfterMs, random, policy: deps.polling };
    return {
      writes,
      // Added in the commit that ends the turn, so that each turn counts once.
      appends: historyAppends(job.project, turns, deps.retentionMs),
      adds: [
        ...adds,
        ...turns.flatMap(({ next }) => (isOnlyStepNew(next) ? (steps.get(next.id) ?? []) : [])),
      ],
      value:
        watched.length === 0 && job.openTurnIds.length <= POLLED_TURNS_MAX
          ? { kind: "done" }
          : {
              kind: "again",
              // Turns that now come into view may have ended with the others.
              dueAt:
                coming.length > 0 || watched.length === 0
                  ? now + retryAfterMs
                  : Math.min(...watched.map((turn) => nextPollAt(turn, state, at))),
              payload,
            },
    };
  };
}
