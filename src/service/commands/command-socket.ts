import { once } from "node:events";
import { chmod, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { Clock, Logger } from "../../shared/machine/ports.ts";
import { codeOrNameOf, messageOf, StartError } from "../../shared/errors.ts";
import type { ServiceConfig } from "../config/config.ts";
import { openDataDir, withState } from "../jobs/state-file.ts";
import { forget, ForgetCommand } from "./forget.ts";
import { CommandResult, runCommand, StateCommand } from "./run-command.ts";

/** Everything that the command line asks the owner of the state for. */
const AnyCommand = z.discriminatedUnion("name", [...StateCommand.options, ForgetCommand]);
export type AnyCommand = z.infer<typeof AnyCommand>;

const ANSWER_WITHIN_MS = 30_000;
/** How long a stopping service waits for a command in progress. */
const CLOSE_WITHIN_MS = 1_000;
/** A service that starts or stops, or another command, holds the state for a moment. */
const WAIT_MS = 10_000;
const TRY_EVERY_MS = 100;
/** Nobody is listening: there is no socket, or a killed service left one behind. */
const NOBODY = new Set(["ENOENT", "ECONNREFUSED"]);

/** At most as long as the longest path of an agent's socket. */
function socketOf(dataDir: string): string {
  return join(dataDir, "control.sock");
}

/** Accepts commands from this user on a socket in the data folder, which the caller owns. */
export async function serveCommands(
  dataDir: string,
  run: (command: AnyCommand) => CommandResult | Promise<CommandResult>,
  logger: Logger,
): Promise<AsyncDisposable> {
  const path = socketOf(dataDir);
  const server = createServer((asked, response) => {
    json(asked)
      .then((body) => run(AnyCommand.parse(body)))
      .then((result) => response.end(JSON.stringify(result)))
      .catch((error: unknown) => {
        logger.error({ error: messageOf(error) }, "a command failed");
        response.destroy();
      });
  });
  await rm(path, { force: true });
  server.listen(path);
  await once(server, "listening");
  await chmod(path, 0o600);
  return {
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeIdleConnections();
      const late = setTimeout(() => server.closeAllConnections(), CLOSE_WITHIN_MS);
      await once(server, "close");
      clearTimeout(late);
    },
  };
}

/**
 * Has the running service carry out a command. If no service is running, does it here. Rejects with
 * a {@link StartError} that says why it can't be done.
 */
export async function doCommand(
  config: ServiceConfig,
  clock: Clock,
  command: AnyCommand,
): Promise<CommandResult> {
  openDataDir(config);
  const giveUpMs = clock.now() + WAIT_MS;
  for (;;) {
    const result =
      (await askService(config.dataDir, command)) ??
      (await withState(config, clock, (db) =>
        command.name === "forget"
          ? forget(command, { db, dataDir: config.dataDir, nowMs: clock.now() })
          : runCommand(command, { db, settings: config, nowMs: clock.now() }),
      ));
    if (result?.isRefused === true) throw new StartError(result.text);
    if (result !== null) return result;
    if (clock.now() > giveUpMs) {
      throw new StartError(
        `A job service that takes no commands is using ${config.dataDir}. Try again later.`,
      );
    }
    await sleep(TRY_EVERY_MS);
  }
}

/** Resolves to null if no service is running. */
async function askService(dataDir: string, command: AnyCommand): Promise<CommandResult | null> {
  try {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
    request({ socketPath: socketOf(dataDir), method: "POST", signal, agent: false }, resolve)
      .on("error", reject)
      .end(JSON.stringify(command));
    return CommandResult.parse(await json(await promise));
  } catch (thrown) {
    const code = codeOrNameOf(thrown);
    if (NOBODY.has(code)) return null;
    throw new StartError(`The running job service doesn't answer (${code}). See its log.`, { cause: thrown });
  }
}
