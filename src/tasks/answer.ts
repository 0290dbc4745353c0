import { isPosted, questionSlot } from "../core/delivery.ts";
import { faultForLog } from "../core/job-service.ts";
import type { Read } from "../core/records.ts";
import { newestOfThread } from "../core/follow-up.ts";
import { answerInWords, answerQuestion, isOpen, resultOf, sentAnswer } from "../core/question.ts";
import type { AnswerResult, Answering } from "../core/question.ts";
import { isGivenUp, retryDelayMs } from "../core/retry.ts";
import { maySteer, type FollowUps } from "../core/people.ts";
import type { Request } from "../core/request.ts";
import type { NewTask, Plan, Step, Task } from "../core/task-queue.ts";
import { isAsking, questionOf, withQuestion, type Turn } from "../core/turn.ts";
import type { TaskDeps } from "./deps.ts";
import { turnPayload } from "./payload.ts";
import { closedForMs, heedRetryAfter } from "./project-gate.ts";
import { QuestionPayload, questionTasks } from "./question.ts";
import { refreshTasks } from "./refresh.ts";
import { readTurnTask, turnNow, turnWrites } from "./turn-writes.ts";
import { watchTask } from "./watch.ts";

/** Somebody's answer to a question: with the choice at that place, or in words. */
export type GivenAnswer = {
  turnId: string;
  question: number;
  userId: string;
  given: { choice: number } | { text: string };
  /** The message that it was said in. */
  saidIn?: string;
};

/** What becomes of it. `gone`: the turn is no longer kept. */
export type AnswerTaken =
  | { kind: Exclude<Answering["kind"], "answered"> | "gone" }
  | { kind: "answered"; userId: string }
  | { kind: "not-allowed"; requesterId: string };

type TakeDeps = Pick<TaskDeps, "clock" | "polling" | "retentionMs"> & { followUps: FollowUps };

/** Takes an answer: it is written down, and on its way to the agent. The first one counts; the same again changes nothing. */
export function answering(
  deps: TakeDeps,
  read: Read,
  { turnId, question: number, userId, given, saidIn }: GivenAnswer,
): Plan<AnswerTaken> {
  const turn = read("turn", turnId);
  const asked = turn === undefined ? undefined : questionOf(turn, number);
  if (turn === undefined || asked === undefined) return { value: { kind: "gone" } };
  if (!maySteer(deps.followUps, turn, userId)) {
    return { value: { kind: "not-allowed", requesterId: turn.request.userId } };
  }
  const answered = answerQuestion(asked, userId, given, saidIn);
  switch (answered.kind) {
    case "answered":
      return { value: answered };
    case "known":
    case "closed":
      // Its message may not have been brought up to date yet.
      return { adds: questionTasks(turn), value: { kind: answered.kind } };
    case "taken": {
      const next = withQuestion(turn, answered.question);
      return {
        writes: turnWrites(deps, read, next),
        adds: [answerTask(next, number), ...questionTasks(next), ...refreshTasks(next)],
        value: { kind: "taken" },
      };
    }
  }
}

/**
 * A reply in a thread whose agent asks, as the answer to that. `known`: it was taken before. Undefined: it is no answer. Files can't go along with
 * one.
 */
export function replyAnswering(
  deps: TakeDeps,
  read: Read,
  { id, userId, instructions, files, isAdmitted, ...place }: Request,
): Plan<{ kind: "answered" | "known" }> | undefined {
  const turns = [...newestOfThread(read, place)];
  const wasTaken = ({ questions = [] }: Turn) => questions.some(({ answer }) => answer?.saidIn === id);
  if (turns.some(wasTaken)) return { value: { kind: "known" } };
  if (isAdmitted !== true || (files ?? []).length > 0) return undefined;
  const turn = turns.find((other) => isAsking(other) && maySteer(deps.followUps, other, userId));
  // What nobody can see yet, nobody answers.
  const question = turn?.questions?.find(
    (asked) => isOpen(asked) && isPosted(turn.delivery, questionSlot(asked.number)),
  );
  if (turn === undefined || question === undefined) return undefined;
  const given = answerInWords(question, instructions);
  if (given === null) return undefined;
  const plan = answering(deps, read, {
    turnId: turn.id,
    question: question.number,
    userId,
    given,
    saidIn: id,
  });
  return { ...plan, value: { kind: "answered" } };
}

function answerTask(turn: Turn, number: number): NewTask {
  const { service } = turn.request.project;
  const payload = { ...turnPayload(turn), question: number } satisfies QuestionPayload;
  return { id: `answer:${turn.id}:${number}`, type: "answer", share: service, payload };
}

/**
 * Takes an answer to the job service, for a day while that is away. Safe to repeat, as the same answer is. That it is on its way is saved
 * before: if the question is gone afterwards, the agent may have got it.
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
    return settle(deps, turnId, number, { result: wasSentBefore ? "unsure" : "unsent" });
  }
  const now = deps.clock.now();
  const waitMs = await closedForMs(deps, request.project);
  if (waitMs > 0) return { kind: "wait", dueAt: now + waitMs };
  if (!wasSentBefore) {
    await deps.commit((read) => ({
      ...change(deps, read, turnId, number, { mayBeSent: true }),
      value: null,
    }));
  }
  deps.assertHeld();
  const said = await jobService.answerQuestion(job.id, asked?.id ?? "", sentAnswer(known));
  await heedRetryAfter(deps, request.project, said);
  const result = resultOf(said, wasSentBefore);
  if (said.ok) deps.logger.info({ question: number }, "an answer is taken");
  else deps.logger.warn({ question: number, fault: faultForLog(said.fault) }, "an answer was not taken");
  if (result !== null) return settle(deps, turnId, number, { result });
  const fault = said.ok ? undefined : said.fault;
  const mayBeSent = wasSentBefore || fault?.kind === "unknown";
  if (isGivenUp(task, deps.clock.now())) {
    return settle(deps, turnId, number, { result: mayBeSent ? "unsure" : "unsent" });
  }
  const retryAfterMs = fault?.retryAfterMs ?? 0;
  const delayMs = retryDelayMs({ attempt: task.attempt, retryAfterMs, random: deps.random() });
  const dueAt = deps.clock.now() + delayMs;
  return (read) => ({
    ...change(deps, read, turnId, number, { mayBeSent }),
    value: { kind: "retry", dueAt, reason: "the job service did not take the answer" },
  });
}

/** Writes down how the sending ended; the message says so, and the next poll comes soon. */
function settle(deps: TaskDeps, turnId: string, number: number, ended: { result: AnswerResult }): Step {
  return (read) => ({ ...change(deps, read, turnId, number, ended), value: { kind: "done" } });
}

function change(
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
