import { faultForLog, isFromServiceThatIsUp } from "../rules/ports/job-service.ts";
import type { Task } from "../../shared/queue/task-queue.ts";
import type { Step } from "../rules/records.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import { CloseItPayload } from "../rules/decisions/new-tasks.ts";
import { readTask } from "../rules/decisions/payload.ts";
import { askJobService, retryLater } from "./service-backoff.ts";
import { answerPrivately } from "./reply.ts";

/** How long a service that is away or busy is asked again. */
const PATIENCE_MS = 10 * 60_000;
/** The status of an answer that says why the pull request stays as it is. */
const STAYS = 409;

/**
 * Has the job service close a pull request that changes nothing any more. The thread hears of it as
 * of any that is closed. If it stays open, whoever pressed the button is told why. Safe to repeat:
 * the service looks at it right before.
 */
export async function close(deps: TaskDeps, given: Task): Promise<Step> {
  const task = readTask(CloseItPayload, given);
  const { teamId, channelId, threadTs, userId, responseUrl, turnId } = task.payload;
  const turn = await deps.records.get("turn", turnId);
  if (turn === undefined) return { kind: "done" };
  const to = { place: { teamId, channelId, threadTs }, userId, responseUrl };
  const { project } = turn.request;
  const { job } = turn;
  const jobService = deps.jobServices.of(project)?.jobService;
  if (jobService === undefined || job === null) {
    return answerPrivately(deps, task, to, { kind: "not-closed", turn, said: null });
  }
  const answer = await askJobService(deps, project, () => jobService.closePullRequest(job.id));
  if (answer.ok) {
    deps.logger.info({ job_id: job.id }, "a pull request is closed");
    return { kind: "done" };
  }
  const { fault } = answer;
  deps.logger.warn({ fault: faultForLog(fault) }, "a pull request was not closed");
  if (!isFromServiceThatIsUp(answer) && deps.clock.now() < task.addedAt + PATIENCE_MS) {
    return retryLater(deps, task.attempt, "the job service did not close the pull request", fault);
  }
  const said = fault.status === STAYS ? (fault.said ?? null) : null;
  return answerPrivately(deps, task, to, { kind: "not-closed", turn, said });
}
