import { createSystemClock } from "../shared/machine/clock-and-log.ts";
import { runCommands } from "../shared/machine/command-line.ts";
import { createUpgradeProgram } from "./program.ts";

await runCommands((version) =>
  createUpgradeProgram({
    version,
    env: process.env,
    clock: createSystemClock(),
    write: (text) => process.stdout.write(text),
    input: process.stdin,
    isTerminal: process.stdin.isTTY === true,
    onEnd: (isWell) => (process.exitCode = isWell ? 0 : 1),
  }).parseAsync(),
);
