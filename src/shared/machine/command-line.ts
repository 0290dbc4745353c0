import { readFileSync } from "node:fs";
import { CommanderError } from "commander";
import { z } from "zod";
import { codeOf, shownError } from "../errors.ts";

const PACKAGE = new URL("../../../package.json", import.meta.url);
const Version = z.object({ version: z.string() });
/** The exit code for wrong usage, as in shells. */
const WRONG_USAGE = 2;

/** The version of this copy. */
export function packageVersion(): string {
  return Version.parse(JSON.parse(readFileSync(PACKAGE, "utf8"))).version;
}

/**
 * Runs a program with commands, which gets the package's version, and ends the process. A failure
 * goes to standard error, with exit code 1, and wrong usage has 2.
 */
export async function runCommands(run: (version: string) => Promise<unknown>): Promise<never> {
  // The reader has closed the output, like `head` does when it has enough.
  process.stdout.on("error", (error) => process.exit(codeOf(error) === "EPIPE" ? 0 : 1));
  try {
    await run(packageVersion());
  } catch (thrown) {
    // Commander has already printed the error or the requested help.
    if (thrown instanceof CommanderError) process.exit(thrown.exitCode === 0 ? 0 : WRONG_USAGE);
    process.stderr.write(`${shownError(thrown)}\n`);
    process.exitCode = 1;
  }
  // Nothing that still keeps the process running has anything left to do.
  process.exit();
}
