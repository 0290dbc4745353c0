import { randomBytes } from "node:crypto";
import { MAX_QUESTIONS, type QuestionAnswer } from "../../shared/contract/question.ts";
import type { AgentQuestion } from "../runner/runner.ts";
import { QuestionRow, SELECT_QUESTION, type TurnKey } from "./rows.ts";
import type { Tables } from "./tables.ts";

/** The questions of running agents. {@link JobStore} removes them when the run ends. */
export class QuestionStore {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /** Call this when the service starts. Nobody waits for answers to earlier ones. */
  begin(): void {
    this.#tables.run(`DELETE FROM questions`);
  }

  /** Returns the question's id, or null if its turn isn't running anymore. */
  add(
    { jobId, number }: TurnKey,
    { text, choices, allowsText }: AgentQuestion,
    nowMs: number,
  ): string | null {
    const id = `q-${randomBytes(10).toString("hex")}`;
    const sql = `INSERT INTO questions (id, job_id, turn, text, choices, allows_text, asked_at) SELECT
      ?1, ?2, ?3, ?4, ?5, ?6, ?7
      WHERE EXISTS (SELECT 1 FROM turns WHERE job_id = ?2 AND number = ?3 AND state = 'running')`;
    const values = [id, jobId, number, text, JSON.stringify(choices), allowsText ? 1 : 0, nowMs];
    return this.#tables.run(sql, ...values) === 0 ? null : id;
  }

  question(jobId: string, id: string): QuestionRow | null {
    return this.#tables.one(QuestionRow, `${SELECT_QUESTION} WHERE id = ? AND job_id = ?`, id, jobId);
  }

  /** The newest questions of a job, as many as a record shows, oldest first. */
  shown(jobId: string): QuestionRow[] {
    const sql = `${SELECT_QUESTION} WHERE job_id = ? ORDER BY asked_at DESC, id DESC LIMIT ?`;
    return this.#tables.all(QuestionRow, sql, jobId, MAX_QUESTIONS).toReversed();
  }

  /** Stores the answer. Returns false if the question was already answered or is closed. */
  answer({ id }: QuestionRow, answer: QuestionAnswer, nowMs: number): boolean {
    const sql = `UPDATE questions SET answered_at = ?, answer = ? WHERE id = ? AND answered_at IS NULL`;
    return this.#tables.run(sql, nowMs, JSON.stringify(answer), id) === 1;
  }

  /** Removes a question that nobody answered in time. Returns false if somebody has answered it. */
  close(id: string): boolean {
    return this.#tables.run(`DELETE FROM questions WHERE id = ? AND answered_at IS NULL`, id) === 1;
  }

  /** Removes the questions of a turn, or of a whole job. */
  forget(jobId: string, turn: number | null): void {
    this.#tables.run(`DELETE FROM questions WHERE job_id = ?1 AND coalesce(turn = ?2, true)`, jobId, turn);
  }
}
