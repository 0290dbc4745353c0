import type { DatabaseSync, StatementSync } from "node:sqlite";
import { jobSql } from "./job-sql.ts";

/** The statements on jobs, turns and questions, prepared. */
export type JobStatements = Record<keyof typeof jobSql, StatementSync>;

export function prepareJobStatements(db: DatabaseSync): JobStatements {
  const prepare = (name: keyof typeof jobSql) => db.prepare(jobSql[name]);
  return {
    addJob: prepare("addJob"),
    addFirstTurn: prepare("addFirstTurn"),
    addNextTurn: prepare("addNextTurn"),
    touchJob: prepare("touchJob"),
    job: prepare("job"),
    jobs: prepare("jobs"),
    page: prepare("page"),
    lastScanned: prepare("lastScanned"),
    dataVersion: prepare("dataVersion"),
    newestTurns: prepare("newestTurns"),
    turns: prepare("turns"),
    turn: prepare("turn"),
    unfinishedJobs: prepare("unfinishedJobs"),
    oldestUnfinished: prepare("oldestUnfinished"),
    countUnfinished: prepare("countUnfinished"),
    blockingCreate: prepare("blockingCreate"),
    blockingMessage: prepare("blockingMessage"),
    answered: prepare("answered"),
    addAnswered: prepare("addAnswered"),
    forgetAnswered: prepare("forgetAnswered"),
    addAttachment: prepare("addAttachment"),
    attachments: prepare("attachments"),
    neededAttachments: prepare("neededAttachments"),
    attachedBytes: prepare("attachedBytes"),
    forgetAttachments: prepare("forgetAttachments"),
    startTurn: prepare("startTurn"),
    suspendTurn: prepare("suspendTurn"),
    setReport: prepare("setReport"),
    endTurn: prepare("endTurn"),
    cancelTurn: prepare("cancelTurn"),
    setPullRequest: prepare("setPullRequest"),
    setPrLink: prepare("setPrLink"),
    archiveJob: prepare("archiveJob"),
    archiveTurns: prepare("archiveTurns"),
    inactive: prepare("inactive"),
    addQuestion: prepare("addQuestion"),
    answerQuestion: prepare("answerQuestion"),
    question: prepare("question"),
    newestQuestions: prepare("newestQuestions"),
    closeQuestion: prepare("closeQuestion"),
    forgetQuestions: prepare("forgetQuestions"),
    forgetJobsQuestions: prepare("forgetJobsQuestions"),
    forgettable: prepare("forgettable"),
    forgetTurns: prepare("forgetTurns"),
    forgetJob: prepare("forgetJob"),
    projectIds: prepare("projectIds"),
  };
}
