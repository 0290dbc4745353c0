import { randomInt } from "node:crypto";
import { resolve } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import type { Finding } from "./check-service.ts";
import type { ServiceConfig } from "../config/config.ts";
import { isSafeHttpUrl } from "../config/repository.ts";
import type { NewAppOptions } from "./github-app.ts";
import { lineText } from "./show.ts";
import { addStateCommands, type CommandContext } from "./state-commands.ts";

type AppOptions = Omit<NewAppOptions, "clock" | "write">;

export type ProgramOptions = Omit<CommandContext, "settings"> & {
  version: string;
  /** Reads the settings file at `path`. `needsSecrets`: the variables that it names must be set. */
  readSettings: (path: string, options: { needsSecrets: boolean }) => ServiceConfig;
  /** Makes an App at the code host. */
  createApp: (options: AppOptions) => Promise<void>;
  /** Serves until it is told to stop. */
  serve: (config: ServiceConfig) => Promise<void>;
  /** Looks for what a turn needs. */
  check: (config: ServiceConfig, options: { path: string; callModel: boolean }) => AsyncIterable<Finding>;
};

const AFTER = `
While it serves:
  POST /v2/agent/{projectId}/job                create a job
  GET  /v2/agent/{projectId}/job                list jobs
  GET  /v2/agent/{projectId}/job/{id}           read one
  POST /v2/agent/{projectId}/job/{id}/message   give it a follow-up prompt
  POST /v2/agent/{projectId}/job/{id}/answer    answer its agent's question
  POST /v2/agent/{projectId}/job/{id}/turn/{number}/cancel   end one turn
  POST /v2/agent/{projectId}/job/{id}/archive   close it
  GET  /openapi.json, /healthz, /readyz
  SIGTERM, SIGINT   graceful stop within stopGraceMinutes; a second one forces

service.example.yml describes every setting.
`;

const HELP_HINT = "(--help shows the commands)";

/**
 * The command line of the job service. A wrong command or option throws commander's error, after
 * saying what is meant.
 */
export function createProgram({ readSettings, serve, createApp, ...rest }: ProgramOptions): Command {
  const program = new Command("npm run service --")
    .description(
      "The self-hosted job service: runs a coding agent in a checkout of the docs and opens the " +
        "pull request.",
    )
    .addOption(
      new Option("--config <path>", "the settings file").env("SERVICE_CONFIG").default("./service.yml"),
    )
    .addHelpText("after", AFTER)
    .version(rest.version)
    .configureOutput({ writeOut: rest.write })
    .showHelpAfterError(HELP_HINT)
    .exitOverride();
  const context: CommandContext = {
    ...rest,
    settings: (options) => readSettings(program.opts<{ config: string }>().config, options),
  };

  program
    .command("serve", { isDefault: true })
    .description("serve until it is told to stop (the default)")
    .allowExcessArguments()
    .action(async (_options: object, { args }: Command) => {
      refuseUnknown(program, args);
      await serve(context.settings({ needsSecrets: true }));
    });
  addStateCommands(program, context);
  program
    .command("github-app")
    .description("create a GitHub App that opens the pull requests, in a browser on this machine")
    .option("--org <name>", "the organization that it belongs to (default: your own account)")
    .option("--name <name>", "its name, which nobody else may have", `docs-agent-${randomInt(1e6)}`)
    .option("--key-file <path>", "where its private key goes", "./docs-agent-app.pem")
    .addOption(
      urlOption(
        "--webhook-url <url>",
        "where GitHub reaches the service: <publicBaseUrl>/webhooks/<project>",
      ),
    )
    .addOption(
      urlOption("--api-url <url>", "the API, for GitHub Enterprise").default("https://api.github.com"),
    )
    .action((options: Omit<AppOptions, "timeLimitMs">) =>
      createApp({
        ...options,
        keyFile: resolve(options.keyFile),
        timeLimitMs: 15 * 60_000,
      }),
    );
  program
    .command("config")
    .description("the settings file")
    .command("check")
    .description("check the settings, and whether everything is there that a turn needs")
    .option("--call-model", "call each model, too, which may cost a few tokens", false)
    .action(async ({ callModel }: { callModel: boolean }) => {
      const config = context.settings({ needsSecrets: true });
      const { projects, containment } = config;
      const names = projects.map(({ id }) => id).join(", ");
      rest.write(
        "The settings are valid: " +
          `${projects.length === 1 ? "one project" : `${projects.length} projects`} (${names}).\n`,
      );
      if (containment === "none") {
        rest.write(
          "containment: none: agents can read and send away all that the service's user can read.\n",
        );
      }
      const path = program.opts<{ config: string }>().config;
      let faults = 0;
      for await (const finding of rest.check(config, { path, callModel })) {
        if (finding.fault !== null) faults += 1;
        rest.write(findingLine(finding));
      }
      const toFix = faults === 1 ? "one fault" : `${faults} faults`;
      const well = callModel
        ? "Turns can run."
        : "Turns can run if the models answer. Test them: --call-model";
      rest.write(faults === 0 ? `${well}\n` : `Turns can't run yet. Fix ${toFix}.\n`);
      if (faults > 0) process.exitCode = 1;
    });
  return program;
}

/**
 * A command that isn't there comes as an argument of the default one. A parser without a default
 * says so, and which one is meant.
 */
function refuseUnknown(program: Command, args: readonly string[]): void {
  if (args.length === 0) return;
  const strict = new Command().showHelpAfterError(HELP_HINT).exitOverride();
  for (const command of program.commands) strict.command(command.name());
  strict.parse([...args], { from: "user" });
  program.error("error: too many arguments for 'serve'");
}

function urlOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser((value: string) => {
    if (isSafeHttpUrl(value)) return value.replace(/\/+$/, "");
    throw new InvalidArgumentError("It must be an https URL.");
  });
}

/** One line of `config check`. */
function findingLine({ of, what, found, fault, isWarning = false }: Finding): string {
  const verdict = isWarning ? "warn " : "ok   ";
  return `${fault === null ? verdict : "FAULT"}  ${of}  ${what}: ${lineText(fault ?? found)}\n`;
}
