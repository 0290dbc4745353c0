import { existsSync } from "node:fs";
import { type Command, Option } from "commander";
import { StartError } from "../shared/errors.ts";
import { lineText } from "../service/commands/show.ts";
import { type DoctorOptions, examine } from "./doctor.ts";
import { envFileFindings } from "./env-file-findings.ts";
import type { LivePlace } from "./live-findings.ts";
import { closingWords, type DoctorFinding, findingText } from "../service/cli/finding.ts";
import { commandNamed, type CommandProcess } from "../shared/machine/command-line.ts";

/** A file's variables are added to `env`. */
type ProgramDeps = Omit<CommandProcess, "input" | "isTerminal">;

type Options = Omit<DoctorOptions, "configPath" | "live"> & {
  env?: string;
  config: string;
  json: boolean;
  live: boolean;
  channel?: string;
  branch?: string;
};

const AFTER = `
With an App Configuration Token in SLACK_CONFIG_TOKEN, it also compares the manifest that Slack has with
this version's. Generate the token at https://api.slack.com/apps, for this run alone.

Exit codes: 0 all is well (there may be warnings), 1 something has to be mended, 2 wrong usage.
--json writes { "ok": true, "findings": [{ "of", "part", "level", "tried", "found", "todo" }] }, where
level is ok, warn or fault, and todo may be null.
`;

/** The command line of the doctor. For a wrong option, it throws commander's error. */
export function createDoctorProgram(deps: ProgramDeps): Command {
  const { version, env, clock, say } = deps;
  const about = "Tries everything that the Slack app and the job service need, and says what to do.";
  return commandNamed("doctor", { version, about, after: AFTER })
    .option("--env <path>", "the file with the variables of both programs (default: .env, if it is there)")
    .addOption(
      new Option("--config <path>", "the job service's settings file")
        .env("SERVICE_CONFIG")
        .default("./service.yml"),
    )
    .option("--call-model", "call each model, too, which may cost a few tokens", false)
    .option("--skip-checks", "don't run the projects' checks on their base branches", false)
    .option("--app-id <id>", "the Slack app's id, where SLACK_APP_TOKEN doesn't have it")
    .option("--live", "try the real thing once, too, in --channel and on --branch", false)
    .option("--channel <id>", "a Slack channel: a message is posted there, changed and deleted")
    .option("--branch <name>", "a new branch: a draft of it is opened and closed, and it is removed")
    .option("--json", "write the findings as JSON", false)
    .action(
      async (
        {
          env: envFile = ".env",
          config: configPath,
          json,
          live: isLive,
          channel,
          branch,
          ...others
        }: Options,
        command: Command,
      ) => {
        const live = isLive ? placeOf(channel, branch) : null;
        const options = { ...others, live };
        if (command.getOptionValueSource("env") !== undefined && !existsSync(envFile)) {
          throw new StartError(`There is no ${envFile}. Correct --env.`);
        }
        const onProgress = (line: string) => say(`…      ${lineText(line)}\n`);
        const findings: DoctorFinding[] = [];
        const tell = (finding: DoctorFinding) => {
          findings.push(finding);
          if (!json) deps.write(findingText(finding));
        };
        for (const finding of envFileFindings(envFile, env)) tell(finding);
        const examining = examine({ ...options, configPath, env, clock, version, onProgress });
        for await (const finding of examining) tell(finding);
        const faults = findings.filter(({ level }) => level === "fault").length;
        if (json) deps.write(`${JSON.stringify({ ok: faults === 0, findings }, null, 2)}\n`);
        else deps.write(closingWords(findings));
        deps.onEnd(faults === 0);
      },
    );
}

function placeOf(channel: string | undefined, branch: string | undefined): LivePlace {
  if (channel !== undefined && branch !== undefined) return { channel, branch };
  throw new StartError("--live posts in a channel and pushes a branch. Name both: --channel and --branch.");
}
