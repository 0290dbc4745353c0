import { createSystemClock } from "../shared/machine/clock-and-log.ts";
import { runCommands } from "../shared/machine/command-line.ts";
import { createDoctorProgram } from "./program.ts";

await runCommands((version) =>
  createDoctorProgram({
    version,
    env: process.env,
    clock: createSystemClock(),
    write: (text) => process.stdout.write(text),
    say: (text) => process.stderr.write(text),
    onEnd: (ok) => (process.exitCode = ok ? 0 : 1),
  }).parseAsync(),
);
