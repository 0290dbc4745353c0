import type { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { StartError } from "../../shared/errors.ts";
import { RunnerStore } from "../jobs/runner-store.ts";
import type { RunnerRow } from "../runners/runner-row.ts";
import { addedText, runnerList, runnersText } from "./runners-text.ts";
import { assertProject, type CommandSettings } from "./known-project.ts";

const RUNNER_NAME = /^[a-z0-9-]{1,40}$/;
const Name = z.string();

/** What the command line asks about runners elsewhere, in JSON. */
export const RUNNER_COMMANDS = [
  z.strictObject({ name: z.literal("list-runners"), asJson: z.boolean() }),
  // Null stands for all projects.
  z.strictObject({ name: z.literal("add-runner"), runner: Name, projects: z.array(Name).min(1).nullable() }),
  z.strictObject({ name: z.literal("drain-runner"), runner: Name }),
  z.strictObject({ name: z.literal("resume-runner"), runner: Name }),
  z.strictObject({ name: z.literal("remove-runner"), runner: Name }),
] as const;
type RunnerCommand = z.infer<(typeof RUNNER_COMMANDS)[number]>;
type Deps = { db: DatabaseSync; settings: CommandSettings; nowMs: number };

/** Carries out a command about runners elsewhere. `about` is for the log. */
export function runOnRunners(command: RunnerCommand, deps: Deps): { text: string; about?: object } {
  const { settings, nowMs } = deps;
  const store = new RunnerStore(deps.db);
  switch (command.name) {
    case "list-runners": {
      const { jobsAtOnce } = settings;
      const list = runnerList(store.all(), { running: store.running(), jobsAtOnce, nowMs });
      return { text: command.asJson ? `${JSON.stringify(list, null, 2)}\n` : runnersText(list) };
    }
    case "add-runner":
      return addRunner(command, store, deps);
    case "drain-runner": {
      const { id, name } = runnerOf(store, command.runner);
      const text = store.setDraining(id, true)
        ? `Runner ${name} gets no more turns. Those that it runs go on.\n`
        : `Runner ${name} was already getting no more turns.\n`;
      return { text, about: { runner_id: id } };
    }
    case "resume-runner": {
      const { id, name } = runnerOf(store, command.runner);
      const text = store.setDraining(id, false)
        ? `Runner ${name} gets turns again.\n`
        : `Runner ${name} was already getting turns.\n`;
      return { text, about: { runner_id: id } };
    }
    case "remove-runner": {
      const { id, name } = runnerOf(store, command.runner);
      store.revoke(id, nowMs);
      return {
        text: `Removed runner ${name}. Its token is refused from now on.\n`,
        about: { runner_id: id },
      };
    }
    default:
      return command satisfies never;
  }
}

function addRunner(
  { runner: name, projects }: Extract<RunnerCommand, { name: "add-runner" }>,
  store: RunnerStore,
  { settings, nowMs }: Deps,
) {
  if (!RUNNER_NAME.test(name)) {
    throw new StartError("A runner's name must be 1 to 40 lower-case letters, digits or '-'.");
  }
  const ids = projects === null ? null : [...new Set(projects)];
  for (const id of ids ?? []) assertProject(id, settings);
  const added = store.add({ keyPrefix: settings.keyPrefix, name, projects: ids, nowMs });
  if (added === null) {
    throw new StartError(`There is a runner ${name} already. Choose another name, or remove it first.`);
  }
  const { id, token } = added;
  const text = addedText({ name, projects: ids, token, serviceUrl: settings.publicBaseUrl });
  return { text, about: { runner_id: id, projects: ids } };
}

function runnerOf(store: RunnerStore, name: string): RunnerRow {
  const found = store.byName(name);
  if (found === null) throw new StartError(`There is no runner ${JSON.stringify(name)}. See runners.`);
  return found;
}
