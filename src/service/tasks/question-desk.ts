import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/logger.ts";
import type { QuestionAnswer } from "../../core/job-service.ts";
import { messageOf } from "../../errors.ts";
import type { TurnKey } from "../jobs/acceptance.ts";
import type { JobStore } from "../jobs/job-store.ts";
import type { AgentQuestion } from "../turn-runner.ts";

/** How many questions one run of an agent may ask. */
export const MAX_ASKED = 20;

/** Takes agents' questions to people and the answers back. A question is in the job's record as long as somebody waits for its answer. */
export class QuestionDesk {
  readonly #deps: { store: JobStore; clock: Clock; logger: Logger };
  readonly #waiting = new Map<string, (answer: QuestionAnswer) => void>();

  constructor(deps: { store: JobStore; clock: Clock; logger: Logger }) {
    this.#deps = deps;
  }

  /** Asks for one run of a turn: see `RunTurnInput.ask`. */
  forRun(
    turn: TurnKey,
    limitMs: number,
    signal: AbortSignal,
  ): (question: AgentQuestion) => Promise<QuestionAnswer | null> {
    let asked = 0;
    return async (question) => {
      asked += 1;
      if (asked > MAX_ASKED || signal.aborted) return null;
      try {
        return await this.#ask(turn, question, limitMs, signal);
      } catch (thrown) {
        const fields = { job_id: turn.jobId, turn: turn.number, error: messageOf(thrown) };
        this.#deps.logger.error(fields, "a question cannot be kept");
        return null;
      }
    };
  }

  /** Tells whoever waits for it an answer that is in the store. */
  answered(questionId: string, answer: QuestionAnswer): void {
    this.#waiting.get(questionId)?.(answer);
  }

  async #ask(
    turn: TurnKey,
    question: AgentQuestion,
    limitMs: number,
    signal: AbortSignal,
  ): Promise<QuestionAnswer | null> {
    const { store, clock, logger } = this.#deps;
    const id = store.questions.add(turn, question, clock.now());
    if (id === null) return null;
    const fields = { job_id: turn.jobId, turn: turn.number, question: id };
    logger.info(fields, "the agent asks");
    const { promise, resolve } = Promise.withResolvers<QuestionAnswer | null>();
    const giveUp = () => resolve(null);
    this.#waiting.set(id, resolve);
    const cancelLimit = clock.wakeAt(clock.now() + limitMs, () => {
      // An answer that was kept at the last moment is on its way.
      if (store.questions.close(turn, id)) giveUp();
    });
    signal.addEventListener("abort", giveUp, { once: true });
    try {
      const answer = await promise;
      logger.info({ ...fields, is_answered: answer !== null }, "the agent's question is closed");
      return answer;
    } finally {
      cancelLimit();
      signal.removeEventListener("abort", giveUp);
      this.#waiting.delete(id);
    }
  }
}
