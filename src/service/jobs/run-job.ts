import { z } from "zod";
import type { NewTask, Task, TaskEnd } from "../../shared/queue/task-queue.ts";
import { MAX_RETRY_AFTER_MS } from "../../shared/machine/retry-after.ts";
import { toTimestamp } from "../../shared/contract/reading.ts";
import { heldByBudget } from "./project-budget.ts";
import { concludeTurn, givenUp, MAX_ATTEMPTS, nextOfJob } from "./end-turn.ts";
import type { ServiceProject } from "../config/config.ts";
import type { Station } from "../runners/pool.ts";
import { type JobRow, projectOfJob, type TurnRow } from "./rows.ts";
import { againAfterStop, BROKE_DOWN, runAttempt } from "./run-attempt.ts";
import type { ServiceTaskDeps } from "./service-task-deps.ts";

const Payload = z.object({ jobId: z.string() });

/** How often a turn's own code may hang or crash the runner, which costs other turns a run, too. */
const MAX_DEATHS = 2;
const BREAKS_SERVICE =
  "The service broke down twice while it worked on this, so the agent isn't started again.";
/** How often a runner elsewhere may be lost while a turn's agent runs. */
const MAX_LOSSES = 3;
const LOSES_RUNNERS =
  "The machine that worked on this was lost three times, so the agent isn't started again.";

/**
 * The task that runs a job's turns. Each job has one, so that its turns run in order and never at
 * the same time. It is added again with each accepted turn, so it runs once more after that.
 */
export function runJobTask(jobId: string, projectId: string): NewTask {
  const id = `run-job:${jobId}`;
  return { id, type: "run-job", partition: projectId, onDuplicate: "latest", payload: { jobId } };
}

/** The job whose turns this task runs. */
export function runJobId(task: Task): string {
  return Payload.parse(task.payload).jobId;
}

/**
 * Runs the job's oldest unfinished turn once there is room, and then the next one. Safe to run
 * twice: after a crash, the runner starts over with a clean worktree, and a turn that has ended
 * isn't run again.
 */
export async function runJob(deps: ServiceTaskDeps, task: Task, stopped: AbortSignal): Promise<TaskEnd> {
  const { store, projects, pool, clock } = deps;
  const jobId = runJobId(task);
  const job = store.job(jobId);
  if (job === null) return { kind: "dead", reason: `no such job: ${jobId}` };
  const turn = store.oldestUnfinished(jobId);
  if (turn === null) return { kind: "done" };
  if (hasToWait(turn, clock.now())) return { kind: "again", dueAt: turn.dueAt };
  const project = projects.get(job.projectId);
  if (project === undefined) {
    return concludeTurn(deps, turn, {
      kind: "failed",
      reason: "The project isn't set up anymore.",
      details: [`There is no project ${job.projectId} in the settings. Add it again.`],
    });
  }
  if (turn.deaths >= MAX_DEATHS) return concludeTurn(deps, turn, { kind: "failed", reason: BREAKS_SERVICE });
  if (turn.losses >= MAX_LOSSES) return concludeTurn(deps, turn, { kind: "failed", reason: LOSES_RUNNERS });
  const goesOn = turn.state === "running" ? deps.stationOf(turn) : null;
  if (goesOn !== null && pool.closed.aborted) return againAfterStop(deps);
  if (goesOn !== null) return await takeUp(deps, turn, { job, project, station: goesOn, stopped });
  const attempts = attemptsOf(turn);
  if (attempts >= MAX_ATTEMPTS) return concludeTurn(deps, turn, givenUp(attempts, turn.reason ?? BROKE_DOWN));
  using running = deps.runningTurns.add(turn);
  const { signal } = running;
  const place = await pool.take({ project, prefers: store.runnerBefore(jobId), signal });
  if (place === null) return signal.aborted ? nextOfJob(deps, jobId) : againAfterStop(deps);
  try {
    // A turn whose work is pushed only has to say so.
    const held = turn.branch === null ? heldByBudget(store.spending, project, clock.now()) : null;
    if (held !== null) {
      store.hold(turn, held);
      const fields = {
        project: project.id,
        job_id: jobId,
        turn: turn.number,
        until: toTimestamp(held.until),
      };
      deps.logger.info(fields, "turn waits, because the project's budget is used up");
      return { kind: "again", dueAt: held.until };
    }
    const { station } = place;
    return await runAttempt(deps, turn, projectOfJob(project, job), { station, stopped, ended: signal });
  } finally {
    place.release();
  }
}

/** Goes on with a turn that a runner elsewhere kept while the service was away. */
async function takeUp(
  deps: ServiceTaskDeps,
  turn: TurnRow,
  given: { job: JobRow; project: ServiceProject; station: Station; stopped: AbortSignal },
): Promise<TaskEnd> {
  const { job, project, station, stopped } = given;
  using running = deps.runningTurns.add(turn);
  const place = deps.pool.takeUp(station, project.id);
  try {
    const signals = { stopped, ended: running.signal };
    return await runAttempt(deps, turn, projectOfJob(project, job), { station, isTakenUp: true, ...signals });
  } finally {
    place.release();
  }
}

/**
 * How often the turn was started. If it is still marked as running, the service has died, which
 * counts if its agent was started.
 */
function attemptsOf({ attempts, state, agentRuns }: TurnRow): number {
  return attempts - (state === "running" && !agentRuns ? 1 : 0);
}

/**
 * A message that was accepted in the meantime makes the job's task run early, but a turn that waits
 * for its retry still waits.
 */
function hasToWait({ dueAt }: TurnRow, nowMs: number): boolean {
  // If this is longer than any retry, the machine's clock was set back.
  return dueAt > nowMs && dueAt <= nowMs + MAX_RETRY_AFTER_MS;
}
