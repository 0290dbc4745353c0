import type { DatabaseSync } from "node:sqlite";
import type { QuestionAnswer } from "../../core/job-service.ts";
import { MAX_ANSWER_CHARS } from "../../job-client/report-schema.ts";
import { JobStore } from "../jobs/job-store.ts";
import { createKey, listKeys, revokeKey } from "../keys.ts";
import { StartError } from "../../start-error.ts";
import type { AgentQuestion } from "../turn-runner.ts";
import type { CommandResult, StateCommand } from "./command.ts";
import { jobDetails, jobTable, keyTable } from "./show.ts";

export const MAX_LISTED = 1000;

export type CommandDeps = {
  db: DatabaseSync;
  nowMs: number;
  /** Called once turns of a job were ended, to have their agents stop and the next turn run soon. @default nobody runs them */
  onEnded?: (jobId: string) => void;
  /** Called once an answer is kept. @default nobody waits for it */
  onAnswered?: (questionId: string, answer: QuestionAnswer) => void;
};

/** Does what the command line asks, in the process that owns the state. */
export function runCommand(command: StateCommand, deps: CommandDeps): CommandResult {
  try {
    const { text, isActive = false } = run(command, deps);
    return { text, isActive, isRefused: false };
  } catch (thrown) {
    if (!(thrown instanceof StartError)) throw thrown;
    return { text: thrown.message, isActive: false, isRefused: true };
  }
}

function run(
  command: StateCommand,
  { db, nowMs, onEnded, onAnswered }: CommandDeps,
): { text: string; isActive?: boolean } {
  const store = new JobStore(db);
  switch (command.name) {
    case "create-key": {
      const { prefix, project } = command;
      // The key alone, so that it can be piped into where it belongs.
      return { text: `${createKey(db, { prefix, projectId: project, nowMs }).key}\n` };
    }
    case "list-keys":
      return { text: keyTable(listKeys(db)) };
    case "revoke-key": {
      const { id } = command;
      const revoked = revokeKey(db, id, nowMs);
      if (revoked === "unknown") {
        throw new StartError(`There is no key ${JSON.stringify(id)}. See keys list.`);
      }
      return { text: revoked === "revoked" ? `Revoked key ${id}.\n` : `Key ${id} was already revoked.\n` };
    }
    case "list-jobs": {
      const { project, status } = command;
      return { text: jobTable(store.jobs({ projectId: project, status, limit: MAX_LISTED })) };
    }
    case "show-job": {
      const job = jobOf(store, command.id);
      const turns = store.turns(job.id).map((turn) => ({ ...turn, attachments: store.attachments(turn) }));
      const text = jobDetails(job, turns, store.questions.shown(job.id));
      return { text, isActive: job.status === "active" };
    }
    case "cancel-job": {
      const { id } = jobOf(store, command.id);
      const unfinished = store.turns(id).filter(({ state }) => state !== "ended");
      const { length } = unfinished.filter(({ number }) => store.cancel({ jobId: id, number }, nowMs));
      if (length === 0) return { text: `Job ${id} has no turn that waits or runs.\n` };
      onEnded?.(id);
      return { text: `Canceled ${length} ${length === 1 ? "turn" : "turns"} of job ${id}.\n` };
    }
    case "archive-job": {
      const { id } = jobOf(store, command.id);
      if (!store.archive(id, nowMs)) return { text: `Job ${id} was already archived.\n` };
      onEnded?.(id);
      return { text: `Archived job ${id}.\n` };
    }
    case "answer": {
      const { job, question: id, words } = command;
      const question = store.questions.question(job, id);
      if (question === null) {
        throw new StartError(
          `There is no question ${JSON.stringify(id)} in job ${JSON.stringify(job)} that waits for an answer. See jobs show.`,
        );
      }
      const answer = answerOf(question, words);
      if (!store.questions.answer(question, answer, nowMs)) {
        return { text: `Question ${id} was already answered.\n` };
      }
      onAnswered?.(id, answer);
      return { text: `Answered question ${id} of job ${job}.\n` };
    }
    default:
      return command satisfies never;
  }
}

function jobOf(store: JobStore, id: string) {
  const job = store.job(id);
  if (job === null) throw new StartError(`There is no job ${JSON.stringify(id)}. See jobs list.`);
  return job;
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
