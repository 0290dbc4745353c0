import { createLogger, createSystemClock } from "../../../shared/machine/clock-and-log.ts";
import { runCommands } from "../../../shared/machine/command-line.ts";
import { loadEnvFile } from "../../../shared/machine/env-file.ts";
import { proxySecretsOf } from "../../../shared/machine/proxy.ts";
import { serviceProxy } from "../../config/env.ts";
import { createRunnerProgram } from "./program.ts";
import type { RunnerProgramSettings } from "./settings.ts";

const clock = createSystemClock();

async function run(settings: RunnerProgramSettings): Promise<void> {
  const logger = await createLogger({
    level: settings.logLevel,
    secrets: [settings.token, ...proxySecretsOf(serviceProxy(process.env))],
    pretty: process.stdout.isTTY,
  });
  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(event, (thrown: unknown) => {
      logger.error({ err: thrown }, "unforeseen error: ending; unfinished turns run elsewhere");
      process.exit(1);
    });
  }
  for (const warning of settings.warnings) logger.warn({}, warning);
  if (process.getuid?.() === 0) {
    logger.warn({}, "runs as root, where only control groups limit agents' processes: use a user of its own");
  }
  // Loaded only here, because --help and --check need nothing of it.
  const { runUntilSignal } = await import("./run.ts");
  await runUntilSignal({ settings, clock, logger }, () => process.exit(1));
}

await runCommands(async (version) => {
  // Variables that are already set keep their values.
  loadEnvFile(".env", process.env);
  const program = createRunnerProgram({
    version,
    env: process.env,
    clock,
    run,
    write: (text) => process.stdout.write(text),
    onChecked: (isFine) => (process.exitCode = isFine ? 0 : 1),
  });
  await program.parseAsync();
});
