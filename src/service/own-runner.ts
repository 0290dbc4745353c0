import { addAbortListener, once } from "node:events";
import { randomBytes } from "node:crypto";
import { chmod, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { getRequestListener } from "@hono/node-server";
import { messageOf } from "../shared/errors.ts";
import type { Clock, Logger } from "../shared/machine/ports.ts";
import { TransientRunError } from "./base/run-error.ts";
import type { ServiceConfig } from "./config/config.ts";
import { RunnerProcess } from "./runner/process/runner-process.ts";
import type { Runner } from "./runner/runner.ts";
import { createRunnerApi } from "./http/runner-api.ts";
import { RunnerDesk } from "./runners/desk.ts";

export type OwnRunnerOptions = {
  config: Pick<ServiceConfig, "dataDir" | "containment" | "logLevel" | "projects" | "jobsAtOnce">;
  clock: Clock;
  logger: Logger;
  pingEveryMs?: number;
  stopWithinMs?: number;
};

/** How long it may take until the runner gives the first sign of life for new work. */
const TAKEN_WITHIN_MS = 15_000;
/** As long as a runner that gives no sign of life. */
const STOP_WITHIN_MS = 60_000;

/**
 * The service's own runner: a process of its own that speaks the runner API over a socket in the
 * data folder. Its leases end with the process and not with time, because the process is watched.
 */
export class OwnRunner implements Runner {
  readonly #desk: RunnerDesk;
  readonly #process: RunnerProcess;
  readonly #socketPath: string;
  readonly #listener: ReturnType<typeof getRequestListener>;
  #server: Server | null = null;

  constructor({ config, clock, logger, pingEveryMs, stopWithinMs = STOP_WITHIN_MS }: OwnRunnerOptions) {
    const { dataDir, containment, logLevel, projects, jobsAtOnce: places } = config;
    const token = randomBytes(24).toString("base64url");
    this.#socketPath = join(dataDir, "runner.sock");
    const desk = new RunnerDesk({
      clock,
      logger,
      leaseMs: null,
      takenWithinMs: TAKEN_WITHIN_MS,
      stopWithinMs,
      onStuck: (run) => this.#process.killFor(run),
    });
    this.#desk = desk;
    const source = { url: "http://service", socketPath: this.#socketPath, token };
    this.#process = new RunnerProcess({
      settings: () => ({ dataDir, containment, logLevel, projects, source, places, labels: [] }),
      logger,
      onGone: (cause) => desk.lose(cause),
      ...(pingEveryMs !== undefined && { pingEveryMs }),
    });
    const deskFor = () => ({ desk, onPlaces: () => {} });
    const caller = { deskFor, deskOf: () => desk, isExpected: () => false, lend: null };
    const api = createRunnerApi({ callerOf: (given) => (given === token ? caller : null), logger });
    this.#listener = getRequestListener((request) => api.fetch(request));
  }

  /** Starts the runner. Rejects with a `StartError` if it can't run turns. */
  async open(): Promise<void> {
    await this.#listen();
    await this.#process.open();
  }

  /** True while there is a runner that can run turns. */
  get isOpen(): boolean {
    return this.#process.isOpen;
  }

  readonly run: Runner["run"] = async (input) => {
    await this.#opened(input.signal);
    return await this.#desk.run(input);
  };

  readonly readDiff: Runner["readDiff"] = async (input) => {
    await this.#opened(input.signal);
    return await this.#desk.readDiff(input);
  };

  readonly closePull: Runner["closePull"] = async (input) => {
    await this.#opened(input.signal);
    return await this.#desk.closePull(input);
  };

  readonly upkeep: Runner["upkeep"] = async (input) => {
    await this.#opened(input.signal);
    return await this.#desk.upkeep(input);
  };

  /** Ends the runner and its agents. */
  async close(): Promise<void> {
    await this.#process.close();
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  }

  async #listen(): Promise<void> {
    if (this.#server !== null) return;
    // A service that was killed left it behind.
    await rm(this.#socketPath, { force: true });
    const server = createServer(
      { requestTimeout: 0 },
      (request, response) => void this.#listener(request, response),
    );
    this.#server = server;
    server.listen(this.#socketPath);
    await once(server, "listening");
    await chmod(this.#socketPath, 0o600);
  }

  async #opened(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, reject } = Promise.withResolvers<never>();
    using _ = addAbortListener(signal, () => reject(signal.reason));
    await Promise.race([this.open(), promise]).catch((error: unknown) => {
      signal.throwIfAborted();
      throw new TransientRunError("The turn broke off.", { details: [messageOf(error)] });
    });
  }
}
