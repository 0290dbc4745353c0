import type { Clock, Logger } from "../../../shared/machine/ports.ts";
import { within } from "../../../shared/machine/ports.ts";
import { onStopSignal } from "../../../shared/machine/stop-signals.ts";
import { RunnerProcess } from "../process/runner-process.ts";
import { ownRunnerFolder } from "./own-folder.ts";
import type { RunnerProgramSettings } from "./settings.ts";

/** How soon a runner that couldn't start is started again. */
const OPEN_AGAIN_MS = 30_000;

type RunDeps = { settings: RunnerProgramSettings; clock: Clock; logger: Logger };

/**
 * Runs turns until SIGTERM or SIGINT. Then it takes no more of them, and those that run have
 * `stopGraceMinutes`. A second signal ends them at once, and a third one the process, by
 * `forceExit`. The service runs unfinished turns elsewhere. Rejects with a `StartError` if it
 * can't run any.
 */
export async function runUntilSignal(
  { settings, clock, logger }: RunDeps,
  forceExit: () => void,
): Promise<void> {
  const { serviceUrl, token, dataDir, places, labels, containment, logLevel, stopGraceMinutes } = settings;
  using _ = await ownRunnerFolder(dataDir, clock);
  const source = { url: serviceUrl, socketPath: null, token };
  const runner = new RunnerProcess({
    settings: () => ({ dataDir, containment, logLevel, projects: [], source, places, labels }),
    logger,
    onGone: () => {},
  });
  const asked = Promise.withResolvers<string>();
  const askedAgain = Promise.withResolvers<void>();
  let count = 0;
  onStopSignal((signal) => {
    count += 1;
    if (count === 1) return asked.resolve(signal);
    if (count > 2) return forceExit();
    logger.warn({ signal }, "stopping at once: unfinished turns run elsewhere");
    askedAgain.resolve();
  });
  let watch: NodeJS.Timeout | undefined;
  try {
    await Promise.race([runner.open(), asked.promise]);
    // If its process ends, another one starts at once. That may fail, for instance without memory.
    watch = setInterval(() => {
      runner.open().catch((error: unknown) => logger.error({ err: error }, "no runner; trying again"));
    }, OPEN_AGAIN_MS);
    if (runner.isOpen) {
      logger.info(
        { service: serviceUrl, places, labels, data_dir: dataDir },
        "the runner asks the job service for work",
      );
    }
    const signal = await asked.promise;
    clearInterval(watch);
    const graceMs = stopGraceMinutes * 60_000;
    logger.info({ signal, grace_ms: graceMs }, "stopping: no more turns are taken");
    if (runner.isOpen) {
      await within(clock, graceMs, Promise.race([runner.drain(), askedAgain.promise]), undefined);
    }
  } finally {
    clearInterval(watch);
    await runner.close();
  }
  logger.info({}, "stopped");
}
