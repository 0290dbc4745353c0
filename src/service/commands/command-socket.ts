import { once } from "node:events";
import { chmod, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import type { Logger } from "../../core/logger.ts";
import { codeOrNameOf, messageOf } from "../../errors.ts";
import { StartError } from "../../start-error.ts";
import { CommandResult, StateCommand } from "./command.ts";

const ANSWER_WITHIN_MS = 30_000;
/** For a command that is being asked when the service stops. */
const CLOSE_WITHIN_MS = 1_000;
/** Nobody listens: there is no socket, or one that a killed service left. */
const NOBODY = new Set(["ENOENT", "ECONNREFUSED"]);

/** As long as the longest path of an agent's socket, at most. */
function socketOf(dataDir: string): string {
  return join(dataDir, "control.sock");
}

/** Takes commands of this user on a socket in the data folder, which the caller owns. */
export async function serveCommands(
  dataDir: string,
  run: (command: StateCommand) => CommandResult,
  logger: Logger,
): Promise<AsyncDisposable> {
  const path = socketOf(dataDir);
  const server = createServer((asked, response) => {
    json(asked)
      .then((body) => response.end(JSON.stringify(run(StateCommand.parse(body)))))
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

/** Has the running service do a command; null: none runs. */
export async function askService(dataDir: string, command: StateCommand): Promise<CommandResult | null> {
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
    throw new StartError(`The running job service doesn't answer (${code}). See its log.`, {
      cause: thrown,
    });
  }
}
