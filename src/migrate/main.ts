import { DocsAgentError, messageOf } from "../errors.ts";
import { createLogger } from "../logger.ts";
import { createSystemClock } from "../system-clock.ts";
import { createMigrateProgram } from "./program.ts";

/** Whatever was typed may come back in a message: user and password of a URL do not. */
function withoutPasswords(text: string): string {
  return text.replaceAll(/(rediss?:\/\/)\S*@/gi, "$1");
}

function writeError(text: string): void {
  process.stderr.write(withoutPasswords(text));
}

try {
  const logger = await createLogger({ level: "warn", secrets: [], pretty: process.stdout.isTTY });
  const program = createMigrateProgram({
    clock: createSystemClock(),
    logger,
    write: (text) => process.stdout.write(withoutPasswords(text)),
    writeError,
    isTerminal: process.stdout.isTTY,
  });
  await program.parseAsync();
} catch (thrown) {
  // Our own errors say what to do; a stack trace would bury it.
  const known = thrown instanceof DocsAgentError;
  writeError(`${known || !(thrown instanceof Error) ? messageOf(thrown) : (thrown.stack ?? "")}\n`);
  process.exitCode = 1;
}
// Anything that still holds the process open has nothing left to do.
process.exit();
