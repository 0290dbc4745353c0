import type { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import type { Logger } from "../../shared/machine/ports.ts";
import { MAX_ANSWER_CHARS, type QuestionAnswer } from "../../shared/contract/question.ts";
import { StartError } from "../../shared/errors.ts";
import type { JobRow, QuestionRow } from "../jobs/rows.ts";
import { JobStore } from "../jobs/job-store.ts";
import { terminalText } from "../base/printable-text.ts";
import { createKey, listKeys, revokeKey } from "../jobs/keys.ts";
import { assertProject, type CommandSettings } from "./known-project.ts";
import { RUNNER_COMMANDS, runOnRunners } from "./runner-commands.ts";
import { jobDetails, jobTable, keyTable } from "./show.ts";
import { UsageBy } from "../jobs/usage-sums.ts";
import { PrintedAs, usageText } from "./usage-text.ts";
import { JobStatus } from "../../shared/contract/job.ts";

export const MAX_LISTED = 1000;

const Id = z.string();

/** A command-line request about the service's state, in JSON. */
export const StateCommand = z.discriminatedUnion("name", [
  z.strictObject({ name: z.literal("create-key"), project: Id }),
  z.strictObject({ name: z.literal("count-keys"), project: Id }),
  z.strictObject({ name: z.literal("list-keys") }),
  z.strictObject({ name: z.literal("revoke-key"), id: Id }),
  z.strictObject({ name: z.literal("list-jobs"), project: Id.nullable(), status: JobStatus.nullable() }),
  // `isRepeated` is true if somebody is watching the job.
  z.strictObject({ name: z.literal("show-job"), id: Id, isRepeated: z.boolean() }),
  z.strictObject({ name: z.literal("show-brief"), id: Id }),
  z.strictObject({ name: z.literal("cancel-job"), id: Id }),
  z.strictObject({ name: z.literal("archive-job"), id: Id }),
  z.strictObject({
    name: z.literal("usage"),
    sinceMs: z.int(),
    by: UsageBy,
    project: Id.nullable(),
    format: PrintedAs,
  }),
  z.strictObject({ name: z.literal("answer"), job: Id, question: Id, words: z.string() }),
  ...RUNNER_COMMANDS,
]);
export type StateCommand = z.infer<typeof StateCommand>;

/**
 * The text for a person. `isRefused` is true if the text says why nothing was done. `isActive`
 * tells whether the job that is shown is active.
 */
export const CommandResult = z.object({
  text: z.string(),
  isRefused: z.boolean().default(false),
  isActive: z.boolean().default(false),
});
export type CommandResult = z.infer<typeof CommandResult>;

export type CommandDeps = {
  db: DatabaseSync;
  settings: CommandSettings;
  nowMs: number;
  /**
   * Called after turns of a job were ended, so that their agents stop and the next turn runs soon.
   * @default does nothing
   */
  onEnded?: (jobId: string, canceled: number) => void;
  /** Called after an answer was stored. @default does nothing */
  onAnswered?: (questionId: string, answer: QuestionAnswer) => void;
  /** @default logs nothing */
  logger?: Logger;
};

/** Carries out a command-line request, in the process that owns the state. */
export function runCommand(command: StateCommand, deps: CommandDeps): CommandResult {
  const log = command.name === "show-job" && command.isRepeated ? "debug" : "info";
  try {
    const { text, isActive = false, about } = run(command, deps);
    deps.logger?.[log]({ command: command.name, ...about }, "command done");
    return { text, isActive, isRefused: false };
  } catch (thrown) {
    if (!(thrown instanceof StartError)) throw thrown;
    // The arguments aren't logged: somebody may have typed a key in place of an id.
    deps.logger?.[log]({ command: command.name }, "command refused");
    return { text: thrown.message, isActive: false, isRefused: true };
  }
}

/** `about` is for the log. It only holds values that are known to be ids. */
type Done = { text: string; isActive?: boolean; about?: object };

function run(command: StateCommand, deps: CommandDeps): Done {
  const store = new JobStore(deps.db);
  switch (command.name) {
    case "create-key":
    case "count-keys":
    case "list-keys":
    case "revoke-key":
      return runOnKeys(command, deps);
    case "list-runners":
    case "add-runner":
    case "drain-runner":
    case "resume-runner":
    case "remove-runner":
      return runOnRunners(command, deps);
    case "list-jobs": {
      const { project, status } = command;
      const jobs = store.jobs({ projectId: project, status, limit: MAX_LISTED });
      // A project that was removed from the settings may still have jobs.
      if (project !== null && jobs.length === 0) assertProject(project, deps.settings);
      return { text: jobTable(jobs), about: { project, status } };
    }
    case "show-job": {
      const job = jobOf(store, command.id);
      const turns = store.turns(job.id).map((turn) => ({ ...turn, attachments: store.attachments(turn) }));
      const text = jobDetails(job, turns, store.questions.shown(job.id));
      return { text, isActive: job.status === "active", about: { job_id: job.id } };
    }
    case "show-brief": {
      const { id } = jobOf(store, command.id);
      const brief = store.brief(id);
      if (brief === null) throw new StartError(`No agent has been told anything yet in job ${id}.`);
      return { text: `${terminalText(brief)}\n`, about: { job_id: id } };
    }
    case "usage": {
      const { sinceMs, by, project, format } = command;
      if (project !== null) assertProject(project, deps.settings);
      const sums = store.usage({ sinceMs, by, projectId: project });
      return { text: usageText(sums, { sinceMs, by, format }), about: { by, project } };
    }
    case "cancel-job":
      return cancelJob(store, jobOf(store, command.id).id, deps);
    case "archive-job":
      return archiveJob(store, jobOf(store, command.id).id, deps);
    case "answer":
      return answerQuestion(store, command, deps);
    default:
      return command satisfies never;
  }
}

type Command<Name> = Extract<StateCommand, { name: Name }>;
type KeyCommand = Command<"create-key" | "count-keys" | "list-keys" | "revoke-key">;

function runOnKeys(command: KeyCommand, { db, settings, nowMs }: CommandDeps): Done {
  switch (command.name) {
    case "create-key": {
      const { project } = command;
      assertProject(project, settings);
      const { key, id } = createKey(db, { prefix: settings.keyPrefix, projectId: project, nowMs });
      // Prints the key alone, so that it can be piped to where it belongs.
      return { text: `${key}\n`, about: { project, key_id: id } };
    }
    case "count-keys": {
      const keys = listKeys(db).filter(
        ({ projectId, revokedAt }) => projectId === command.project && revokedAt === null,
      );
      return { text: String(keys.length) };
    }
    case "list-keys":
      return { text: keyTable(listKeys(db)) };
    case "revoke-key": {
      const { id } = command;
      const revoked = revokeKey(db, id, nowMs);
      if (revoked === "unknown") {
        throw new StartError(`There is no key ${JSON.stringify(id)}. See keys list.`);
      }
      const text = revoked === "revoked" ? `Revoked key ${id}.\n` : `Key ${id} was already revoked.\n`;
      return { text, about: { key_id: id } };
    }
    default:
      return command satisfies never;
  }
}

function cancelJob(store: JobStore, id: string, { nowMs, onEnded }: CommandDeps): Done {
  const unfinished = store.turns(id).filter(({ state }) => state !== "ended");
  const { length } = unfinished.filter(({ number }) => store.cancel({ jobId: id, number }, nowMs));
  const about = { job_id: id, turns: length };
  if (length === 0) return { text: `Job ${id} has no turn that waits or runs.\n`, about };
  onEnded?.(id, length);
  return { text: `Canceled ${length} ${length === 1 ? "turn" : "turns"} of job ${id}.\n`, about };
}

function archiveJob(store: JobStore, id: string, { nowMs, onEnded }: CommandDeps): Done {
  const about = { job_id: id };
  if (!store.archive(id, nowMs)) return { text: `Job ${id} was already archived.\n`, about };
  onEnded?.(id, 0);
  return { text: `Archived job ${id}.\n`, about };
}

function answerQuestion(
  store: JobStore,
  { job, question: id, words }: Command<"answer">,
  { nowMs, onAnswered }: CommandDeps,
): Done {
  const question = store.questions.question(job, id);
  if (question === null) {
    throw new StartError(
      `There is no question ${JSON.stringify(id)} in job ${JSON.stringify(job)} that waits ` +
        "for an answer. See jobs show.",
    );
  }
  const answer = answerOf(question, words);
  const about = { job_id: job, question: id };
  if (!store.questions.answer(question, answer, nowMs)) {
    return { text: `Question ${id} was already answered.\n`, about };
  }
  onAnswered?.(id, answer);
  return { text: `Answered question ${id} of job ${job}.\n`, about };
}

function jobOf(store: JobStore, id: string): JobRow {
  const job = store.job(id);
  if (job === null) throw new StartError(`There is no job ${JSON.stringify(id)}. See jobs list.`);
  return job;
}

function answerOf({ choices, allowsText }: QuestionRow, words: string): QuestionAnswer {
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
