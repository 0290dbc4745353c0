import { type Command, InvalidArgumentError, Option } from "commander";
import { isSafeHttpUrl } from "../service/config/repository.ts";
import { serviceProxy } from "../service/config/env.ts";
import { fetchThrough } from "../shared/machine/dispatcher.ts";
import { TerminalPrompt } from "./terminal-prompt.ts";
import { Programs } from "./programs.ts";
import { Session, type SetupOptions } from "./session.ts";
import { SetupRun } from "./setup-run.ts";
import { DATA_DIR } from "./service-settings.ts";
import { commandNamed, type CommandProcess } from "../shared/machine/command-line.ts";

type ProgramDeps = Omit<CommandProcess, "say" | "onEnd"> & {
  /** Resolves once the process is asked to stop. */
  stopped: Promise<unknown>;
};

type Options = SetupOptions & {
  port: number;
  terminal: boolean;
  updateManifest: boolean;
  appId?: string;
  yes: boolean;
};

const AFTER = `
It can be left with Ctrl-C and taken up again: .docs-agent-setup.json has the answers, without secrets.
Secrets go to .env alone, which only you can read.
`;

/** The command line of the setup. For a wrong option, it throws commander's error. */
export function createSetupProgram(deps: ProgramDeps): Command {
  const { version, env, clock, write, stopped } = deps;
  const about =
    "Sets up the Slack app and the job service on a page of this machine: tries each answer, writes " +
    ".env and service.yml, and starts both programs.";
  return commandNamed("setup", { version, about, after: AFTER })
    .option("--folder <path>", "the folder for .env and service.yml", ".")
    .option("--port <number>", "the page's port (0: any free one)", asPort, 0)
    .option("--code-host-url <url>", "the API, for GitHub Enterprise", asUrl, "https://api.github.com")
    .option("--model-url <url>", "the model's API, if it isn't the provider's own", asUrl)
    .addOption(
      new Option("--containment <kind>", "none: agents see all that this user sees")
        .choices(["required", "none"])
        .default("required"),
    )
    .option("--terminal", "ask in the terminal instead of on a page", false)
    .option("--update-manifest", "bring this version's manifest into the Slack app, and end", false)
    .option("--app-id <id>", "the Slack app's id for that, where SLACK_APP_TOKEN doesn't have it")
    .option("--yes", "update the manifest without asking", false)
    .action(async ({ port, terminal, updateManifest: isUpdate, appId, yes, ...options }: Options) => {
      // Both programs read their settings, and relative paths in them, from there.
      process.chdir(options.folder);
      fetchThrough(serviceProxy(env));
      const session = new Session({ ...options, folder: ".", env, clock, version });
      const openPrompt = () => new TerminalPrompt({ ...deps, write });
      if (isUpdate) {
        using prompt = openPrompt();
        const { updateManifest } = await import("./update-manifest.ts");
        return await updateManifest(session, { appId, isSure: yes, prompt, write });
      }
      const logs = session.file(`${DATA_DIR}/logs`);
      await using programs = new Programs({ folder: session.options.folder, logs, env });
      const run = new SetupRun(session, programs);
      if (terminal) {
        using prompt = openPrompt();
        const { setUpInTerminal } = await import("./terminal.ts");
        await Promise.race([setUpInTerminal(run, { prompt, write }), stopped]);
        return void (await stopped);
      }
      const { serveSetup } = await import("./page/server.ts");
      await using page = await serveSetup(run, port);
      const { port: own } = new URL(page.url);
      write(
        `Open ${page.url} in a browser on this machine.\n` +
          `From another one, first: ssh -L ${own}:127.0.0.1:${own} <this machine>\n` +
          "Ctrl-C ends it. Run the command again to go on.\n",
      );
      await stopped;
    });
}

function asUrl(value: string): string {
  if (isSafeHttpUrl(value)) return value.replace(/\/+$/, "");
  throw new InvalidArgumentError("It must be an https URL.");
}

function asPort(value: string): number {
  const port = Number(value);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new InvalidArgumentError("It must be a port, 0 to 65535.");
}
