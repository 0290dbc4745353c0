import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Clock } from "../core/clock.ts";
import type { QuestionAnswer } from "../core/job-service.ts";
import type { Logger } from "../core/logger.ts";
import type { WireJob } from "../job-client/schema.ts";
import {
  answerQuestionRoute,
  archiveJobRoute,
  cancelTurnRoute,
  listJobsRoute,
  WANT_AFTER,
} from "./further-routes.ts";
import { HttpFault, mustBe } from "./http-fault.ts";
import { type StoredJob, type StoredQuestion, toRecord } from "./jobs/job.ts";
import type { JobStore } from "./jobs/job-store.ts";
import { LIST_START, parseCursor, toCursor } from "./jobs/list-cursor.ts";
import { toWireReport } from "./jobs/report.ts";
import type { QuestionDesk } from "./tasks/question-desk.ts";

export type FurtherOperationDeps = {
  store: JobStore;
  /** The project's job; throws an {@link HttpFault} if there is none. */
  jobOf: (projectId: string, id: string) => StoredJob;
  /** Called once turns of a job were ended, to have their agents stop and the next turn run soon. */
  onEnded: (jobId: string) => void;
  questions: QuestionDesk;
  clock: Clock;
  logger: Logger;
};

/** Adds the operations that the contract does not have. Their answers always tell turns and questions. */
export function addFurtherOperations(app: OpenAPIHono, deps: FurtherOperationDeps): void {
  const { store, jobOf, clock, logger } = deps;

  app.openapi(listJobsRoute, (context) => {
    const { projectId } = context.req.valid("param");
    const { status, after, limit } = context.req.valid("query");
    const place = after === undefined ? LIST_START : parseCursor(after);
    if (place === null) throw new HttpFault(400, mustBe("after", WANT_AFTER));
    const { jobs, next } = store.page(projectId, place, status ?? null, limit);
    return context.json({ jobs: jobs.map(toRecord), next: next === null ? null : toCursor(next) }, 200);
  });

  app.openapi(cancelTurnRoute, (context) => {
    const { projectId, id, number } = context.req.valid("param");
    const turn = { jobId: jobOf(projectId, id).id, number };
    if (store.turn(turn) === null) throw new HttpFault(404, "There is no such turn of this job.");
    if (store.cancel(turn, clock.now())) {
      logger.info({ project: projectId, job_id: id, turn: number }, "turn canceled");
      deps.onEnded(id);
    }
    return context.json(fullJob(store, jobOf(projectId, id)), 200);
  });

  app.openapi(archiveJobRoute, (context) => {
    const { projectId, id } = context.req.valid("param");
    jobOf(projectId, id);
    if (store.archive(id, clock.now())) {
      logger.info({ project: projectId, job_id: id }, "job archived");
      deps.onEnded(id);
    }
    return context.json(fullJob(store, jobOf(projectId, id)), 200);
  });

  app.openapi(answerQuestionRoute, (context) => {
    const { projectId, id } = context.req.valid("param");
    const job = jobOf(projectId, id);
    const { questionId, ...answer } = context.req.valid("json");
    const question = store.questions.question(id, questionId);
    if (question === null)
      throw new HttpFault(404, "There is no such question, or nobody waits for its answer.");
    assertFits(answer, question);
    if (store.questions.answer(question, answer, clock.now())) {
      logger.info({ project: projectId, job_id: id, question: questionId }, "question answered");
      deps.questions.answered(questionId, answer);
    } else if (!isSame(answer, store.questions.question(id, questionId)?.answer ?? null)) {
      throw new HttpFault(409, "The question was already answered.");
    }
    return context.json(fullJob(store, job), 200);
  });
}

/** A job with all that is told beyond the contract. */
function fullJob(store: JobStore, job: StoredJob): WireJob {
  const report = { turns: store.shownTurns(job.id), questions: store.questions.shown(job.id) };
  return { ...toRecord(job), ...toWireReport(report) };
}

function assertFits(answer: QuestionAnswer, { choices, allowsText }: StoredQuestion): void {
  if ("choice" in answer) {
    if (choices.some(({ id }) => id === answer.choice)) return;
    throw new HttpFault(400, mustBe("choice", "the id of one of the question's choices"));
  }
  if (!allowsText)
    throw new HttpFault(400, "This question takes only a choice. Send choice instead of text.");
}

function isSame(one: QuestionAnswer, other: QuestionAnswer | null): boolean {
  if (other === null) return false;
  return "choice" in one
    ? "choice" in other && one.choice === other.choice
    : "text" in other && one.text === other.text;
}
