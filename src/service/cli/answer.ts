import type { Command } from "commander";
import type { QuestionAnswer } from "../../core/job-service.ts";
import { StartError } from "../../start-error.ts";
import { MAX_ANSWER_CHARS } from "../../job-client/report-schema.ts";
import { JobStore } from "../jobs/job-store.ts";
import type { AgentQuestion } from "../turn-runner.ts";
import { withState } from "../state-file.ts";
import type { CommandContext } from "./context.ts";

/** Adds `jobs answer`. The server passes the answer on within a second or so. */
export function addAnswerCommand(jobs: Command, { settings, clock, write }: CommandContext): void {
  jobs
    .command("answer")
    .description("answer a question of a job's agent; jobs show lists those that are open")
    .argument("<job>", "the job's id")
    .argument("<question>", "the question's id")
    .argument("<answer>", "the number of a choice, or words where the question allows them")
    .action(async (jobId: string, questionId: string, words: string) => {
      const config = settings({ needsSecrets: false });
      const isKept = await withState(config, clock, (db) => {
        const { questions } = new JobStore(db);
        const question = questions.question(jobId, questionId);
        if (question === null) {
          throw new StartError(
            `There is no question ${JSON.stringify(questionId)} in job ${JSON.stringify(jobId)} that waits for an answer. See jobs show.`,
          );
        }
        return questions.answer(question, answerOf(question, words), clock.now());
      });
      write(
        isKept
          ? `Answered question ${questionId} of job ${jobId}.\n`
          : `Question ${questionId} was already answered.\n`,
      );
    });
}

function answerOf({ choices, allowsText }: AgentQuestion, words: string): QuestionAnswer {
  const choice = choices.find(({ id }) => id === words.trim());
  if (choice !== undefined) return { choice: choice.id };
  if (!allowsText) {
    const offered = choices.map(({ id, label }) => `${id} (${label})`).join(", ");
    throw new StartError(`The answer must be one of ${offered}.`);
  }
  if (words.trim() === "" || words.length > MAX_ANSWER_CHARS || !words.isWellFormed()) {
    throw new StartError(`The answer must be a text of 1 to ${MAX_ANSWER_CHARS} characters.`);
  }
  return { text: words };
}
