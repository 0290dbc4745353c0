import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import { serveCommands } from "./commands/command-socket.ts";
import type { ServiceConfig } from "./config.ts";
import { createJobService } from "./job-service.ts";
import { serveHttp } from "./serve-http.ts";
import { openServiceDatabase } from "./state-file.ts";
import type { TurnRunner, Upkeep } from "./turn-runner.ts";

export type ServeDeps = {
  config: ServiceConfig;
  runTurn: TurnRunner;
  upkeep?: Upkeep;
  /** Awaited once the state is ours, before anything listens. When it rejects, so does the start. */
  prepare?: () => Promise<void>;
  /** Called when all turns have stopped. */
  close?: () => Promise<void>;
  clock: Clock;
  logger: Logger;
};

/** A running job service: HTTP and tasks, on its own state file. */
export type RunningJobService = AsyncDisposable & {
  /** `http://host:port` */
  url: string;
  /** Stops listening, lets running turns go on for `graceMs`, then aborts them, to run again after the next start. */
  stop(graceMs: number): Promise<void>;
  /** Aborts running turns at once, also while `stop` still grants them time. Waits a bounded time for their agents to end. */
  abort(): Promise<void>;
};

/** Starts the service. Rejects with a `StartError`, and holds nothing then, if the state or address is unavailable. */
export async function startJobService({
  config,
  runTurn,
  upkeep,
  prepare,
  close,
  clock,
  logger,
}: ServeDeps): Promise<RunningJobService> {
  // Released in reverse order, whether the start fails half-way or a stop ends it.
  await using starting = new AsyncDisposableStack();
  const database = await openServiceDatabase(config, { clock });
  starting.defer(() => database.close());
  starting.defer(async () => close?.());
  await prepare?.();
  const service = createJobService({
    config,
    database,
    runTurn,
    ...(upkeep && { upkeep }),
    clock,
    logger,
  });
  // It takes commands for as long as turns may still run.
  starting.use(await serveCommands(config.dataDir, (command) => service.runCommand(command), logger));
  let graceMs = 0;
  starting.defer(() => service.stop(graceMs));
  const listening = await serveHttp(service.app, config.listen);
  starting.defer(() => listening.close());
  await service.start();
  const resources = starting.move();
  return {
    url: listening.url,
    async stop(forMs) {
      graceMs = forMs;
      // At once: what follows first waits for the requests that are being answered.
      service.expectStop();
      await resources.disposeAsync();
    },
    abort: () => service.stop(0),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
