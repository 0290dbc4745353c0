import { createLogger, createSystemClock } from "../shared/machine/clock-and-log.ts";
import { loadEnvFile } from "../shared/machine/env-file.ts";
import { runCommands } from "../shared/machine/command-line.ts";
import type { Finding } from "./cli/check-service.ts";
import { type CheckOptions, createProgram } from "./cli/program.ts";
import type { ServiceConfig } from "./config/config.ts";
import { learnedSecrets } from "./base/redaction.ts";
import { projectSecrets, serviceProxy } from "./config/env.ts";

const clock = createSystemClock();

/** Sends requests to the code host through the proxy that the environment names. */
async function useProxy(): Promise<void> {
  const { fetchThrough } = await import("../shared/machine/dispatcher.ts");
  fetchThrough(serviceProxy(process.env));
}

async function serve(config: ServiceConfig): Promise<void> {
  const { env } = process;
  const logger = await createLogger({
    level: config.logLevel,
    secrets: config.projects.flatMap((project) => projectSecrets(project, env)),
    laterSecrets: learnedSecrets,
    pretty: process.stdout.isTTY,
  });
  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(event, (thrown: unknown) => {
      logger.error(
        { err: thrown },
        "unforeseen error: ending; unfinished turns run again after the next start",
      );
      process.exit(1);
    });
  }
  // Loaded only here. The other commands don't need them, and start twice as fast without.
  const { OwnRunner } = await import("./own-runner.ts");
  const { serveUntilSignal } = await import("./serve.ts");
  await useProxy();
  if (process.getuid?.() === 0) {
    logger.warn({}, "runs as root, where only control groups limit agents' processes: use a user of its own");
  }
  const runner = config.jobsAtOnce === 0 ? null : new OwnRunner({ config, clock, logger });
  await serveUntilSignal({ config, runner, clock, logger, env }, () => process.exit(1));
}

async function* check(config: ServiceConfig, { path, ...options }: CheckOptions): AsyncGenerator<Finding> {
  const { checkService } = await import("./cli/check-service.ts");
  await useProxy();
  const configOption = path === "./service.yml" ? "" : ` --config ${path}`;
  yield* checkService({ config, ...options, configOption, env: process.env, clock });
}

await runCommands(async (version) => {
  // Variables that are already set keep their values.
  loadEnvFile(".env", process.env);
  const program = createProgram({
    version,
    env: process.env,
    clock,
    serve,
    check,
    createApp: async (options) => {
      const { createGitHubApp } = await import("./cli/github-app.ts");
      await useProxy();
      await createGitHubApp({ ...options, clock, write: (text) => process.stdout.write(text) });
    },
  });
  await program.parseAsync();
});
