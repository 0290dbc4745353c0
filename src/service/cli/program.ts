import { randomInt } from "node:crypto";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Command, InvalidArgumentError, Option } from "commander";
import type { Clock } from "../../shared/machine/ports.ts";
import { loadServiceConfig, type ServiceConfig } from "../config/config.ts";
import type { Env } from "../config/env.ts";
import { isSafeHttpUrl } from "../config/repository.ts";
import type { Finding } from "./check-service.ts";
import { type AnyCommand, doCommand } from "../commands/command-socket.ts";
import type { NewAppOptions } from "./github-app.ts";
import { addRunnerCommands } from "./runner-program.ts";
import { type CommandResult, MAX_LISTED } from "../commands/run-command.ts";
import { UsageBy } from "../jobs/usage-sums.ts";
import { lineText } from "../commands/show.ts";
import { JobStatus } from "../../shared/contract/job.ts";
import { beforeOptions } from "../../shared/machine/this-copy.ts";

type AppOptions = Omit<NewAppOptions, "clock" | "write">;

type ProgramOptions = {
  version: string;
  env: Env;
  clock: Clock;
  /** Creates an App at the code host. */
  createApp: (options: AppOptions) => Promise<void>;
  /** Serves until it is told to stop. */
  serve: (config: ServiceConfig) => Promise<void>;
  /** Checks everything that a turn needs. */
  check: (config: ServiceConfig, options: CheckOptions) => AsyncIterable<Finding>;
};

/** How the settings are checked. `onProgress` is called with what takes a while. */
export type CheckOptions = {
  path: string;
  callModel: boolean;
  skipChecks: boolean;
  onProgress: (line: string) => void;
};

const AFTER = `
While it serves, under /v2/agent/{projectId}/:
  POST job                             create a job
  GET  job                             list jobs
  GET  job/{id}                        read one
  POST job/{id}/message                give it a follow-up prompt
  POST ask                             ask something, and change nothing
  POST job/{id}/ask                    ask that in an existing job
  POST job/{id}/answer                 answer its agent's question
  POST job/{id}/turn/{number}/cancel   end one turn
  POST job/{id}/archive                archive it
  GET  job/{id}/diff                   read what it changes
  POST job/{id}/address                answer reviews and failed checks of its pull request
  POST job/{id}/update                 bring its pull request's branch up to date
  POST job/{id}/pull-request/close     close a pull request that changes nothing
  GET  changes                         wait for jobs to change
Beside these:
  GET  /openapi.json, /healthz, /readyz
  POST /webhooks/{projectId}           what GitHub calls with news
  SIGTERM, SIGINT   graceful stop within stopGraceMinutes; a second one forces

service.example.yml describes every setting.
`;

const HELP_HINT = "(--help shows the commands)";

/**
 * The command line of the job service. For a wrong command or option, it prints what to do and
 * throws commander's error.
 */
export function createProgram(options: ProgramOptions): Command {
  const { version, env, clock, createApp, serve, check } = options;
  const program = new Command(beforeOptions("service"))
    .description(
      "The self-hosted job service: runs a coding agent in a checkout of the docs and opens the " +
        "pull request.",
    )
    .addOption(
      new Option("--config <path>", "the settings file").env("SERVICE_CONFIG").default("./service.yml"),
    )
    .addHelpText("after", AFTER)
    .version(version)
    .configureOutput({ writeOut: write })
    .showHelpAfterError(HELP_HINT)
    .exitOverride();
  const path = () => program.opts<{ config: string }>().config;

  program
    .command("serve", { isDefault: true })
    .description("serve until it is told to stop (the default)")
    .allowExcessArguments()
    .action(async (_options: object, { args }: Command) => {
      refuseUnknown(program, args);
      await serve(loadServiceConfig(path(), env));
    });
  // They work with no secret, so none has to be set.
  addStateCommands(
    program,
    (command) => doCommand(loadServiceConfig(path(), null), clock, command),
    () => clock.now(),
  );
  program
    .command("github-app")
    .description("create a GitHub App that opens the pull requests, in a browser on this machine")
    .option("--org <name>", "the organization that it belongs to (default: your own account)")
    .option("--name <name>", "its name, which nobody else may have", `docs-agent-${randomInt(1e6)}`)
    .option("--key-file <path>", "where its private key goes", "./docs-agent-app.pem")
    .option(
      "--webhook-url <url>",
      "where GitHub reaches the service: <publicBaseUrl>/webhooks/<project>",
      asUrl,
    )
    .option("--api-url <url>", "the API, for GitHub Enterprise", asUrl, "https://api.github.com")
    .action((options: Omit<AppOptions, "timeLimitMs">) =>
      createApp({ ...options, keyFile: resolve(options.keyFile), timeLimitMs: 15 * 60_000 }),
    );
  program
    .command("config")
    .description("the settings file")
    .command("check")
    .description("check the settings, and whether everything is there that a turn needs")
    .option("--call-model", "call each model, too, which may cost a few tokens", false)
    .option("--skip-checks", "don't run the projects' checks on their base branches", false)
    .action(async (options: Pick<CheckOptions, "callModel" | "skipChecks">) => {
      const config = loadServiceConfig(path(), env);
      const { projects, containment, jobsAtOnce } = config;
      const names = projects.map(({ id }) => id).join(", ");
      write(
        "The settings are valid: " +
          `${projects.length === 1 ? "one project" : `${projects.length} projects`} (${names}).\n`,
      );
      if (containment === "none" && jobsAtOnce > 0) {
        write("containment: none: agents can read and send away all that the service's user can read.\n");
      }
      let faults = 0;
      const onProgress = (line: string) => void process.stderr.write(`…      ${lineText(line)}\n`);
      for await (const finding of check(config, { ...options, path: path(), onProgress })) {
        if (finding.fault !== null) faults += 1;
        write(findingLine(finding));
      }
      const toFix = faults === 1 ? "one fault" : `${faults} faults`;
      const well = options.callModel
        ? "Turns can run."
        : "Turns can run if the models answer. Test them: --call-model";
      write(faults === 0 ? `${well}\n` : `Turns can't run yet. Fix ${toFix}.\n`);
      if (faults > 0) process.exitCode = 1;
    });
  return program;
}

/**
 * Commander passes an unknown command to the default one as an argument. A parser without a default
 * reports it and suggests the command that was meant.
 */
function refuseUnknown(program: Command, args: readonly string[]): void {
  if (args.length === 0) return;
  const strict = new Command().showHelpAfterError(HELP_HINT).exitOverride();
  for (const command of program.commands) strict.command(command.name());
  strict.parse([...args], { from: "user" });
  program.error("error: too many arguments for 'serve'");
}

function asUrl(value: string): string {
  if (isSafeHttpUrl(value)) return value.replace(/\/+$/, "");
  throw new InvalidArgumentError("It must be an https URL.");
}

/** A length of time, milliseconds, or the beginning of a day (UTC), epoch milliseconds. */
type Since = number | { atMs: number };

type UsageOptions = { since: Since; by: UsageBy; project?: string | null; csv?: boolean; json?: boolean };

function asSince(value: string): Since {
  const [, amount, unit] = /^(\d{1,5})([hdw])$/.exec(value) ?? [];
  if (amount !== undefined) return Number(amount) * (unit === "h" ? 1 : unit === "d" ? 24 : 168) * 3_600_000;
  const atMs = /^\d{4}-\d\d-\d\d$/.test(value) ? Date.parse(value) : NaN;
  if (Number.isNaN(atMs)) throw new InvalidArgumentError("It must be like 12h, 30d, 4w or 2026-11-01.");
  return { atMs };
}

/** One line of `config check`. */
function findingLine({ of, what, found, fault, isWarning = false }: Finding): string {
  const verdict = isWarning ? "warn " : "ok   ";
  return `${fault === null ? verdict : "FAULT"}  ${of}  ${what}: ${lineText(fault ?? found)}\n`;
}

function write(text: string): void {
  process.stdout.write(text);
}

const WATCH_EVERY_MS = 1000;
/** Clears the terminal and moves to its top. */
const CLEAR = "\u001b[2J\u001b[H";

/**
 * Adds `keys …`, `runners …` and `jobs …`. They work whether the server is running or not. A
 * running server knows of the change at once.
 */
function addStateCommands(
  program: Command,
  ask: (command: AnyCommand) => Promise<CommandResult>,
  now: () => number,
): void {
  const show = async (command: AnyCommand) => write((await ask(command)).text);

  addRunnerCommands(program, show);
  const keys = program.command("keys").description("admin keys of projects");
  keys
    .command("create")
    .description("create an admin key (shown only once)")
    .requiredOption("--project <id>", "the project that the key is for")
    .action(({ project }: { project: string }) => show({ name: "create-key", project }));
  keys
    .command("list")
    .description("list the keys: id, project, last characters, when created and revoked")
    .action(() => show({ name: "list-keys" }));
  keys
    .command("revoke")
    .description("revoke a key; the next request with it is refused")
    .argument("<id>", "the key's id, from keys list")
    .action((id: string) => show({ name: "revoke-key", id }));

  program
    .command("usage")
    .description("sum up turns, what came of them, and what they cost")
    .option("--since <time>", "how far back: 12h, 30d or 2026-11-01", asSince, asSince("30d"))
    .addOption(
      new Option("--by <what>", "whose turns make a row").choices(UsageBy.options).default("project"),
    )
    .option("--project <id>", "only this project's")
    .addOption(new Option("--csv", "print comma-separated values").conflicts("json"))
    .option("--json", "print JSON")
    .action(({ since, by, project = null, csv = false, json = false }: UsageOptions) => {
      const sinceMs = typeof since === "number" ? now() - since : since.atMs;
      return show({ name: "usage", sinceMs, by, project, format: csv ? "csv" : json ? "json" : "table" });
    });

  program
    .command("forget")
    .description("remove a person's words, names and files, and say what stays elsewhere")
    .argument("<user>", "the person's id in Slack, such as U0ANA; a name for requests without an id")
    .action((user: string) => show({ name: "forget", user }));

  const jobs = program.command("jobs").description("jobs and how they went");
  jobs
    .command("list")
    .description(`list jobs, the newest first, at most ${MAX_LISTED}`)
    .option("--project <id>", "only this project's")
    .addOption(new Option("--status <status>", "only those with this status").choices(JobStatus.options))
    .action(({ project = null, status = null }: { project?: string | null; status?: JobStatus | null }) =>
      show({ name: "list-jobs", project, status }),
    );
  jobs
    .command("show")
    .description("show a job: its turns, progress, why it failed, its pull request")
    .argument("<id>", "the job's id")
    .option("--watch", "show it again every second while it is active")
    .option("--brief", "show what its agent was told in the newest turn that ran")
    .action(async (id: string, { watch = false, brief = false }: { watch?: boolean; brief?: boolean }) => {
      if (brief) return show({ name: "show-brief", id });
      for (let last = ""; ; await sleep(WATCH_EVERY_MS)) {
        const { text, isActive } = await ask({ name: "show-job", id, isRepeated: last !== "" });
        if (text !== last) write(watch && process.stdout.isTTY ? `${CLEAR}${text}` : text);
        last = text;
        if (!watch || !isActive) return;
      }
    });
  jobs
    .command("answer")
    .description("answer a question of a job's agent; jobs show lists those that are open")
    .argument("<job>", "the job's id")
    .argument("<question>", "the question's id")
    .argument("<answer>", "the number of a choice, or words where the question allows them")
    .action((job: string, question: string, words: string) => show({ name: "answer", job, question, words }));
  jobs
    .command("cancel")
    .description("cancel a job's turns that wait or run; its agent is stopped")
    .argument("<id>", "the job's id")
    .action((id: string) => show({ name: "cancel-job", id }));
  jobs
    .command("archive")
    .description("archive a job; a turn that runs is stopped")
    .argument("<id>", "the job's id")
    .action((id: string) => show({ name: "archive-job", id }));
}
