import type { ServeDeps } from "./serve.ts";
import { startJobService } from "./serve.ts";

/** Where signals come from: `process`. */
export type SignalSource = { on(signal: "SIGTERM" | "SIGINT", listener: () => void): unknown };

/** What agents get to end after the second signal. */
const ABORT_MS = 3_000;
/** What an ordered stop may take beyond the grace of running turns, before the process ends all the same. */
const FORCED_AFTER_GRACE_MS = 30_000;

/**
 * Serves until SIGTERM or SIGINT, then stops within `stopGraceMinutes` and half a minute. A second signal grants running turns
 * no more time; `forceExit` is called within seconds of it, at once on a third one, and when the stop takes too long.
 * Unfinished turns run again after the next start in any case.
 */
export async function serveUntilSignal(
  deps: ServeDeps,
  signals: SignalSource,
  forceExit: () => void,
): Promise<void> {
  const { config, logger, clock } = deps;
  await using service = await startJobService(deps);
  const graceMs = config.stopGraceMinutes * 60_000;
  const asked = new Promise<string>((resolve) => {
    let count = 0;
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      signals.on(signal, () => {
        count += 1;
        if (count === 1) return resolve(signal);
        if (count > 2) return forceExit();
        logger.warn({ signal }, "stopping at once: unfinished turns run again after the next start");
        clock.wakeAt(clock.now() + ABORT_MS, forceExit);
        void service.abort().then(forceExit, forceExit);
      });
    }
  });
  logger.info(
    { address: service.url, projects: config.projects.map(({ id }) => id), data_dir: config.dataDir },
    "job service is ready",
  );
  const signal = await asked;
  logger.info({ signal, grace_ms: graceMs }, "stopping");
  const cancel = clock.wakeAt(clock.now() + graceMs + FORCED_AFTER_GRACE_MS, () => {
    logger.error({}, "the stop took too long: unfinished turns run again after the next start");
    forceExit();
  });
  await service.stop(graceMs);
  cancel();
  logger.info({}, "stopped");
}
