// The model door: calls models with the service's keys, for runners elsewhere. See model-door.ts.
import { mkdir, realpath, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { messageOf } from "../../../shared/errors.ts";
import { createLogger } from "../../../shared/machine/clock-and-log.ts";
import { isOfPausedParser } from "../../../shared/machine/dispatcher.ts";
import { listenAtPath } from "../../../shared/machine/listen.ts";
import { projectSecrets } from "../../config/env.ts";
import { DOOR_FOLDER, NETWORK_LIMITS, newSocketPath } from "../../network/limits.ts";
import type { DoorSettings, FromDoor, ToDoor } from "./messages.ts";
import { OpenWorks } from "./open-works.ts";

const TIMEOUTS = { headersTimeout: 10_000, requestTimeout: 5 * 60_000 };

let works: OpenWorks | null = null;

/** If this can't be sent, the service has ended, and so does this process. */
function tell(message: FromDoor): void {
  if (process.connected) process.send?.(message, undefined, {}, () => {});
}

/** Resolves to the path of the socket. */
async function start({ dataDir, logLevel, projects }: DoorSettings): Promise<string> {
  const { env } = process;
  const logger = await createLogger({
    level: logLevel,
    secrets: projects.flatMap((project) => projectSecrets(project, env)),
    pretty: process.stdout.isTTY,
  });
  for (const event of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(event, (thrown: unknown) => {
      if (isOfPausedParser(thrown)) {
        return logger.warn({ err: thrown }, "a provider's connection ended while its answer was read slowly");
      }
      logger.error({ err: thrown }, "unforeseen error in the model door: its calls fail");
      process.exit(1);
    });
  }
  const opened = new OpenWorks({ env, logger, tell });
  works = opened;
  const server = createServer({ ...TIMEOUTS, maxHeaderSize: NETWORK_LIMITS.headerBytes });
  for (const event of ["request", "checkContinue"]) server.on(event, opened.answer);
  // A killed door leaves its socket, and there is one door at a time.
  const folder = join(await realpath(dataDir), DOOR_FOLDER);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  const socketPath = newSocketPath(folder);
  await listenAtPath(server, socketPath);
  return socketPath;
}

// Both sides have the same version, because one starts the other. What is opened before the start
// is over waits for it.
let started: Promise<unknown> = Promise.resolve();
process.on("message", (order: ToDoor) => {
  if (order.kind === "ping") return tell({ kind: "pong" });
  if (order.kind === "start") {
    started = start(order.settings).then(
      (socketPath) => tell({ kind: "listening", socketPath }),
      (error: unknown) => tell({ kind: "failed", problem: messageOf(error) }),
    );
    return;
  }
  void started.then(() => (order.kind === "open" ? works?.open(order) : works?.close(order.work)));
});
// Whoever stops the service may signal all its processes, but the service decides when this ends.
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => {});
// The service has ended, for whatever reason.
process.on("disconnect", () => process.exit());
