import { Command } from "commander";
import { beforeOptions } from "../../../shared/machine/this-copy.ts";
import type { Clock } from "../../../shared/machine/ports.ts";
import { closingWords, type DoctorFinding, findingText } from "../../cli/finding.ts";
import type { Env } from "../../config/env.ts";
import { loadRunnerSettings, type RunnerProgramSettings } from "./settings.ts";

type ProgramDeps = {
  version: string;
  env: Env;
  clock: Clock;
  /** Runs turns until it is told to stop. */
  run: (settings: RunnerProgramSettings) => Promise<void>;
  write: (text: string) => void;
  /** Called with false if anything has to be mended. */
  onChecked: (isFine: boolean) => void;
};

const AFTER = `
Settings, from the environment or from a file .env here:
  RUNNER_SERVICE_URL          the job service's address
  RUNNER_TOKEN                the token that its command "runners add" printed
  RUNNER_DATA_DIR             a folder of the runner's own (./runner-data)
  RUNNER_PLACES               how many turns run at once (2)
  RUNNER_LABELS               what this machine is for, separated by commas (none)
  RUNNER_CONTAINMENT          required, or none: agents run without a sandbox (required)
  RUNNER_STOP_GRACE_MINUTES   how long running turns may go on after a stop (1)
  LOG_LEVEL                   debug, info, warn or error (info)
  HTTPS_PROXY, HTTP_PROXY, NO_PROXY   the way out

SIGTERM, SIGINT   take no more turns, and end within the grace; a second one ends at once.
Exit codes of --check: 0 all is well (there may be warnings), 1 something has to be mended.
docs/runners.md says more.
`;

/** The command line of the runner. For a wrong option, it throws commander's error. */
export function createRunnerProgram(deps: ProgramDeps): Command {
  const { version, env, write } = deps;
  return new Command(beforeOptions("runner"))
    .description("Runs turns for a job service on another machine.")
    .option("--check", "try everything that the runner needs, and say what to do", false)
    .option("--json", "with --check: write the findings as JSON", false)
    .addHelpText("after", AFTER)
    .version(version)
    .exitOverride()
    .action(async ({ check, json }: { check: boolean; json: boolean }, command: Command) => {
      if (json && !check) command.error("error: --json goes with --check");
      if (!check) return await deps.run(loadRunnerSettings(env));
      const { checkRunner } = await import("./check.ts");
      const findings: DoctorFinding[] = [];
      for await (const finding of checkRunner({ env, clock: deps.clock, version })) {
        findings.push(finding);
        if (!json) write(findingText(finding));
      }
      const isFine = findings.every(({ level }) => level !== "fault");
      if (json) write(`${JSON.stringify({ ok: isFine, findings }, null, 2)}\n`);
      else write(closingWords(findings));
      deps.onChecked(isFine);
    });
}
