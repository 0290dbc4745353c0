import type { Clock, Logger } from "../../shared/machine/ports.ts";
import { messageOf } from "../../shared/errors.ts";
import type { TurnKey } from "./rows.ts";
import type { JobStore } from "./job-store.ts";
import type { AgentQuestion } from "../runner/runner.ts";
import type { QuestionAnswer } from "../../shared/contract/question.ts";

/** The most questions that one run of an agent may ask. */
export const MAX_ASKED = 20;
const AGAIN_AFTER_MS = 1000;

/**
 * Passes agents' questions to people, and the answers back. A question is in the job's record while
 * somebody waits for its answer.
 */
export class PendingQuestions {
  readonly #deps: { store: JobStore; clock: Clock; logger: Logger };
  readonly #waiting = new Map<string, (answer: QuestionAnswer) => void>();

  constructor(deps: { store: JobStore; clock: Clock; logger: Logger }) {
    this.#deps = deps;
  }

  /**
   * Asks questions for one run of a turn. See `RunTurnInput.ask`. `onProgress` is called with what
   * became of each.
   */
  forRun(
    turn: TurnKey,
    { limitMs, onProgress }: { limitMs: number; onProgress: (line: string) => void },
    signal: AbortSignal,
  ): (question: AgentQuestion) => Promise<QuestionAnswer | null> {
    let asked = 0;
    return async (question) => {
      asked += 1;
      if (asked > MAX_ASKED || signal.aborted) return null;
      try {
        onProgress(`asks: ${question.text}`);
        const answer = await this.#ask(turn, question, limitMs, signal);
        if (answer !== null) onProgress(`answered: ${wordsOf(question, answer)}`);
        else if (!signal.aborted) onProgress("not answered in time");
        return answer;
      } catch (thrown) {
        const fields = { job_id: turn.jobId, turn: turn.number, error: messageOf(thrown) };
        this.#deps.logger.error(fields, "a question cannot be kept");
        return null;
      }
    };
  }

  /** Passes a stored answer to whoever waits for it. */
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
    const close = () => {
      try {
        // If it can't be closed, an answer was stored at the last moment and is on its way.
        if (store.questions.close(id)) giveUp();
      } catch (thrown) {
        logger.error({ ...fields, error: messageOf(thrown) }, "a question cannot be closed; trying again");
        cancelLimit = clock.wakeAt(clock.now() + AGAIN_AFTER_MS, close);
      }
    };
    let cancelLimit = clock.wakeAt(clock.now() + limitMs, close);
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

function wordsOf({ choices }: AgentQuestion, answer: QuestionAnswer): string {
  if ("text" in answer) return answer.text;
  return choices.find(({ id }) => id === answer.choice)?.label ?? answer.choice;
}
