import { readFileSync } from "node:fs";
import { CommanderError } from "commander";
import { z } from "zod";
import { DocsAgentError, messageOf } from "../shared/errors.ts";
import { createSystemClock } from "../shared/machine/clock-and-log.ts";
import { onStopSignal } from "../shared/machine/stop-signals.ts";
import { createSetupProgram } from "./program.ts";

const PACKAGE = new URL("../../package.json", import.meta.url);
const Version = z.object({ version: z.string() });
/** The exit code for wrong usage, as in shells. */
const WRONG_USAGE = 2;

const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
let isAsked = false;
onStopSignal(() => {
  if (isAsked) process.exit(1);
  isAsked = true;
  stop();
});

try {
  const program = createSetupProgram({
    version: Version.parse(JSON.parse(readFileSync(PACKAGE, "utf8"))).version,
    env: process.env,
    clock: createSystemClock(),
    write: (text) => process.stdout.write(text),
    input: process.stdin,
    isTerminal: process.stdin.isTTY === true,
    stopped,
  });
  await program.parseAsync();
} catch (thrown) {
  // Commander has already printed the error or the requested help.
  if (thrown instanceof CommanderError) process.exit(thrown.exitCode === 0 ? 0 : WRONG_USAGE);
  // Our own errors say what to do, and a stack trace would hide that.
  const known = thrown instanceof DocsAgentError;
  process.stderr.write(`${known || !(thrown instanceof Error) ? messageOf(thrown) : thrown.stack}\n`);
  process.exitCode = 1;
}
// Nothing that still keeps the process running has anything left to do.
process.exit();
