import { randomBytes } from "node:crypto";
import { z } from "zod";
import type { QuestionAnswer } from "../../core/job-service.ts";
import { MAX_QUESTIONS } from "../../job-client/report-schema.ts";
import type { AgentQuestion } from "../turn-runner.ts";
import type { TurnKey } from "./acceptance.ts";
import type { StoredQuestion } from "./job.ts";
import { QuestionRow } from "./rows.ts";
import type { JobStatements } from "./statements.ts";

/** The questions of agents that run, beside their turns. {@link JobStore} removes them with the run. */
export class QuestionStore {
  readonly #sql: JobStatements;

  constructor(sql: JobStatements) {
    this.#sql = sql;
  }

  /** Returns the question's id, or null if its turn does not run any more. */
  add({ jobId, number }: TurnKey, question: AgentQuestion, nowMs: number): string | null {
    const id = `q-${randomBytes(10).toString("hex")}`;
    const { text, choices, allowsText } = question;
    const written = JSON.stringify(choices);
    const { changes } = this.#sql.addQuestion.run(
      id,
      jobId,
      number,
      text,
      written,
      allowsText ? 1 : 0,
      nowMs,
    );
    if (changes === 0) return null;
    return id;
  }

  question(jobId: string, id: string): StoredQuestion | null {
    const row = this.#sql.question.get(id, jobId);
    return row === undefined ? null : QuestionRow.parse(row);
  }

  /** The newest ones of a job, as many as a record shows, the oldest first. */
  shown(jobId: string): StoredQuestion[] {
    return z.array(QuestionRow).parse(this.#sql.newestQuestions.all(jobId, MAX_QUESTIONS)).toReversed();
  }

  /** Keeps the answer. False: the question was answered before, or is closed. */
  answer({ id }: StoredQuestion, answer: QuestionAnswer, nowMs: number): boolean {
    return this.#sql.answerQuestion.run(nowMs, JSON.stringify(answer), id).changes === 1;
  }

  /** Removes a question that nobody has answered in time. False: somebody has. */
  close(id: string): boolean {
    return this.#sql.closeQuestion.run(id).changes === 1;
  }
}
