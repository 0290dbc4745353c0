import { readFileSync } from "node:fs";
import type { Readable } from "node:stream";
import { Command, CommanderError } from "commander";
import { z } from "zod";
import { codeOf, shownError } from "../errors.ts";
import { createSystemClock } from "./clock-and-log.ts";
import type { Clock } from "./ports.ts";
import { beforeOptions, type ProgramName } from "./this-copy.ts";

const PACKAGE = new URL("../../../package.json", import.meta.url);
const Version = z.object({ version: z.string() });
/** The exit code for wrong usage, as in shells. */
const WRONG_USAGE = 2;

/** The version of this copy. */
export function packageVersion(): string {
  return Version.parse(JSON.parse(readFileSync(PACKAGE, "utf8"))).version;
}

/** What a program that is one command has of its process. */
export type CommandProcess = {
  version: string;
  env: Record<string, string | undefined>;
  clock: Clock;
  write: (text: string) => void;
  /** Writes beside the result. */
  say: (text: string) => void;
  input: Readable;
  isTerminal: boolean;
  /** Called with false if it ends with something to mend. */
  onEnd: (isWell: boolean) => void;
};

/** Runs a program that is one command, in this process with this environment. */
export function runAsCommand(
  env: CommandProcess["env"],
  create: (process: CommandProcess) => Command,
): Promise<never> {
  return runCommands((version) =>
    create({
      version,
      env,
      clock: createSystemClock(),
      write: (text) => process.stdout.write(text),
      say: (text) => process.stderr.write(text),
      input: process.stdin,
      isTerminal: process.stdin.isTTY === true,
      onEnd: (isWell) => (process.exitCode = isWell ? 0 : 1),
    }).parseAsync(),
  );
}

/** The command of a program. For a wrong option, it throws commander's error. */
export function commandNamed(
  name: ProgramName,
  { version, about, after }: { version: string; about: string; after: string },
): Command {
  return new Command(beforeOptions(name))
    .description(about)
    .addHelpText("after", after)
    .version(version)
    .exitOverride();
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
