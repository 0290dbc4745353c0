import { shownError } from "../../shared/errors.ts";
import { createLogger, createSystemClock } from "../../shared/machine/clock-and-log.ts";
import { createStateProgram } from "./program.ts";

/** Removes user and password from URLs, because a message may repeat what was typed. */
function say(text: string): void {
  process.stderr.write(text.replaceAll(/(rediss?:\/\/)\S*@/gi, "$1"));
}

try {
  const logger = await createLogger({ level: "warn", secrets: [], pretty: process.stderr.isTTY, dest: 2 });
  const program = createStateProgram({
    clock: createSystemClock(),
    logger,
    env: process.env,
    input: process.stdin,
    output: process.stdout,
    say,
    isTerminal: process.stderr.isTTY,
  });
  await program.parseAsync();
} catch (thrown) {
  say(`${shownError(thrown)}\n`);
  process.exitCode = 1;
}
// Anything that still holds the process open has nothing left to do.
process.exit();
