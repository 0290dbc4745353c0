import { faultForLog } from "../rules/ports/job-service.ts";
import { resultOf, sentAnswer } from "../rules/thread/question.ts";
import { isGivenUp } from "../rules/retry.ts";
import type { Task, TaskEnd } from "../../shared/queue/task-queue.ts";
import type { Decision, Step } from "../rules/records.ts";
import { questionOf, withQuestion, type Turn } from "../rules/turn/turn.ts";
import type { TaskDeps } from "../rules/ports/deps.ts";
import { backoffMs, heedRetryAfter, retryLater } from "./service-backoff.ts";
import { answerEnded } from "../rules/decisions/answer-ended.ts";
import { QuestionPayload } from "../rules/decisions/new-tasks.ts";
import { changeTurn, readTurnTask } from "../rules/decisions/turn-writes.ts";

/**
 * Sends an answer to the job service, and keeps trying for a day if the service is away. Repeating
 * is safe, because the same answer counts once. That it is being sent is stored first: if the
 * question is gone afterwards, the agent may have got the answer.
 */
export async function answer(deps: TaskDeps, given: Task): Promise<Step> {
  const { task, turn } = await readTurnTask(deps, QuestionPayload, given);
  const { question: number } = task.payload;
  const { job, request } = turn;
  const asked = questionOf(turn, number);
  const known = asked?.answer;
  if (job === null || known === undefined || known.result !== undefined) return { kind: "done" };
  const jobService = deps.jobServices.of(request.project)?.jobService;
  const wasSentBefore = known.mayBeSent === true;
  if (jobService === undefined) {
    deps.logger.error({ project: request.project.name }, "the project of this job is no longer configured");
    return answerEnded(deps, task.payload, wasSentBefore ? "unsure" : "unsent");
  }
  const now = deps.clock.now();
  const waitMs = await backoffMs(deps, request.project);
  if (waitMs > 0) return { kind: "wait", dueAt: now + waitMs };
  if (!wasSentBefore) await deps.commit(noted(deps, task.payload, true));
  deps.assertHeld();
  const said = await jobService.answerQuestion(job.id, asked?.id ?? "", sentAnswer(known));
  await heedRetryAfter(deps, request.project, said);
  const result = resultOf(said, wasSentBefore);
  if (said.ok) deps.logger.info({ question: number }, "an answer is taken");
  else deps.logger.warn({ question: number, fault: faultForLog(said.fault) }, "an answer was not taken");
  if (result !== null) return answerEnded(deps, task.payload, result);
  const fault = said.ok ? undefined : said.fault;
  const mayBeSent = wasSentBefore || fault?.kind === "unknown";
  if (isGivenUp(task, deps.clock.now())) {
    return answerEnded(deps, task.payload, mayBeSent ? "unsure" : "unsent");
  }
  const retry = retryLater(deps, task.attempt, "the job service did not take the answer", fault);
  return noted(deps, task.payload, mayBeSent, retry);
}

/** Notes whether the agent may have got an answer. */
function noted(
  deps: TaskDeps,
  { turnId, question: number }: QuestionPayload,
  mayBeSent: boolean,
  end: TaskEnd = { kind: "done" },
): Decision<TaskEnd> {
  const withAnswer = (turn: Turn): Turn => {
    const known = questionOf(turn, number)?.answer;
    return known === undefined ? turn : withQuestion(turn, number, { answer: { ...known, mayBeSent } });
  };
  return changeTurn(deps, turnId, withAnswer, () => ({ value: end }));
}
