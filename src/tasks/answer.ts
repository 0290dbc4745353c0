import { faultForLog } from "../core/ports/job-service.ts";
import type { Read } from "../core/ports/records.ts";
import { resultOf, sentAnswer, type AnswerResult } from "../core/job/question.ts";
import { isGivenUp, retryDelayMs } from "../core/job/retry.ts";
import type { Step, Task } from "../core/ports/task-queue.ts";
import { questionOf, withQuestion } from "../core/turn/turn.ts";
import type { TaskDeps } from "../decisions/deps.ts";
import { closedForMs, heedRetryAfter } from "./project-gate.ts";
import { QuestionPayload, questionTasks, watchTask } from "../decisions/new-tasks.ts";
import { readTurnTask, turnNow, turnWrites } from "../decisions/turn-writes.ts";

/**
 * Sends an answer to the job service, and keeps trying for a day if the service is away. Repeating
 * is safe, because the same answer counts once. That it is being sent is stored first: if the
 * question is gone afterwards, the agent may have got the answer.
 */
export async function answer(deps: TaskDeps, given: Task): Promise<Step> {
  const { task, turn } = await readTurnTask(deps, QuestionPayload, given);
  const { turnId, question: number } = task.payload;
  const { job, request } = turn;
  const asked = questionOf(turn, number);
  const known = asked?.answer;
  if (job === null || known === undefined || known.result !== undefined) return { kind: "done" };
  const jobService = deps.jobServices.of(request.project)?.jobService;
  const wasSentBefore = known.mayBeSent === true;
  if (jobService === undefined) {
    deps.logger.error({ project: request.project.name }, "the project of this job is no longer configured");
    return endAnswer(deps, turnId, number, { result: wasSentBefore ? "unsure" : "unsent" });
  }
  const now = deps.clock.now();
  const waitMs = await closedForMs(deps, request.project);
  if (waitMs > 0) return { kind: "wait", dueAt: now + waitMs };
  if (!wasSentBefore) {
    await deps.commit((read) => ({
      ...noteAnswer(deps, read, turnId, number, { mayBeSent: true }),
      value: null,
    }));
  }
  deps.assertHeld();
  const said = await jobService.answerQuestion(job.id, asked?.id ?? "", sentAnswer(known));
  await heedRetryAfter(deps, request.project, said);
  const result = resultOf(said, wasSentBefore);
  if (said.ok) deps.logger.info({ question: number }, "an answer is taken");
  else deps.logger.warn({ question: number, fault: faultForLog(said.fault) }, "an answer was not taken");
  if (result !== null) return endAnswer(deps, turnId, number, { result });
  const fault = said.ok ? undefined : said.fault;
  const mayBeSent = wasSentBefore || fault?.kind === "unknown";
  if (isGivenUp(task, deps.clock.now())) {
    return endAnswer(deps, turnId, number, { result: mayBeSent ? "unsure" : "unsent" });
  }
  const retryAfterMs = fault?.retryAfterMs ?? 0;
  const delayMs = retryDelayMs({ attempt: task.attempt, retryAfterMs, random: deps.random() });
  const dueAt = deps.clock.now() + delayMs;
  return (read) => ({
    ...noteAnswer(deps, read, turnId, number, { mayBeSent }),
    value: { kind: "retry", dueAt, reason: "the job service did not take the answer" },
  });
}

/** Stores how sending ended. The message says so, and the next poll comes soon. */
function endAnswer(deps: TaskDeps, turnId: string, number: number, ended: { result: AnswerResult }): Step {
  return (read) => ({ ...noteAnswer(deps, read, turnId, number, ended), value: { kind: "done" } });
}

function noteAnswer(
  deps: TaskDeps,
  read: Read,
  turnId: string,
  number: number,
  noted: { mayBeSent?: boolean; result?: AnswerResult },
) {
  const turn = turnNow(read, turnId);
  const asked = questionOf(turn, number);
  if (asked?.answer === undefined) return {};
  const next = withQuestion(turn, { ...asked, answer: { ...asked.answer, ...noted } });
  const isWatched = noted.result !== undefined && next.stage.name === "watching";
  return {
    writes: turnWrites(deps, read, next),
    adds: [
      ...questionTasks(next),
      ...(isWatched ? [watchTask(next, deps.clock.now() + deps.polling.minMs)] : []),
    ],
  };
}
