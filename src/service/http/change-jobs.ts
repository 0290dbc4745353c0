import { isDeepStrictEqual } from "node:util";
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { QuestionAnswer } from "../../shared/contract/question.ts";
import type { QuestionRow } from "../jobs/rows.ts";
import { HttpFault, mustBe } from "./http-fault.ts";
import * as routes from "./routes.ts";
import type { ServiceAppDeps } from "./service-app-deps.ts";
import { fullJob, jobOf } from "./shown-job.ts";

/** Adds the operations that change a job without giving it a turn. Each may be repeated. */
export function addChangingOfJobs(app: OpenAPIHono, deps: ServiceAppDeps): void {
  addCancel(app, deps);
  addArchive(app, deps);
  addClose(app, deps);
  addAnswer(app, deps);
}

function addCancel(app: OpenAPIHono, { store, clock, logger, onEnded }: ServiceAppDeps): void {
  app.openapi(routes.cancelTurnRoute, (context) => {
    const { projectId, id, number } = context.req.valid("param");
    const turn = { jobId: jobOf(store, projectId, id).id, number };
    if (store.turn(turn) === null) throw new HttpFault(404, "There is no such turn of this job.");
    if (store.cancel(turn, clock.now())) {
      logger.info({ project: projectId, job_id: id, turn: number }, "turn canceled");
      onEnded(id, 1);
    }
    return context.json(fullJob(store, projectId, id), 200);
  });
}

function addArchive(app: OpenAPIHono, { store, clock, logger, onEnded }: ServiceAppDeps): void {
  app.openapi(routes.archiveJobRoute, (context) => {
    const { projectId, id } = context.req.valid("param");
    jobOf(store, projectId, id);
    if (store.archive(id, clock.now())) {
      logger.info({ project: projectId, job_id: id }, "job archived");
      onEnded(id, 0);
    }
    return context.json(fullJob(store, projectId, id), 200);
  });
}

function addClose(app: OpenAPIHono, { store, logger, runnerAccess, lookAtPull }: ServiceAppDeps): void {
  app.openapi(routes.closePullRequestRoute, async (context) => {
    const { projectId, id } = context.req.valid("param");
    const became = await runnerAccess.closePull(jobOf(store, projectId, id));
    if (became === "busy") throw new HttpFault(503, "Try again in 5 s.", { "retry-after": "5" });
    if (became === "closed" || became === "merged") await lookAtPull(id);
    if (became !== "closed") {
      const [status, why] = NOT_CLOSED[became];
      throw new HttpFault(status, why);
    }
    logger.info({ project: projectId, job_id: id }, "pull request closed");
    return context.json(fullJob(store, projectId, id), 200);
  });
}

const NOT_CLOSED = {
  missing: [404, "The job has no pull request."],
  merged: [409, "The pull request was merged."],
  changed: [409, "The pull request changes something again."],
  working: [409, "The agent is working on a follow-up."],
} as const;

function addAnswer(app: OpenAPIHono, { store, clock, logger, questions }: ServiceAppDeps): void {
  app.openapi(routes.answerQuestionRoute, (context) => {
    const { projectId, id } = context.req.valid("param");
    jobOf(store, projectId, id);
    const { questionId, ...answer } = context.req.valid("json");
    const question = store.questions.question(id, questionId);
    if (question === null)
      throw new HttpFault(404, "There is no such question, or nobody waits for its answer.");
    assertFits(answer, question);
    if (store.questions.answer(question, answer, clock.now())) {
      logger.info({ project: projectId, job_id: id, question: questionId }, "question answered");
      questions.answered(questionId, answer);
    } else if (!isDeepStrictEqual(answer, store.questions.question(id, questionId)?.answer)) {
      throw new HttpFault(409, "The question was already answered.");
    }
    return context.json(fullJob(store, projectId, id), 200);
  });
}

/** Throws an {@link HttpFault} unless the question can have this answer. */
function assertFits(answer: QuestionAnswer, { choices, allowsText }: QuestionRow): void {
  if ("choice" in answer) {
    if (choices.some(({ id }) => id === answer.choice)) return;
    throw new HttpFault(400, mustBe("choice", "the id of one of the question's choices"));
  }
  if (!allowsText)
    throw new HttpFault(400, "This question takes only a choice. Send choice instead of text.");
}
