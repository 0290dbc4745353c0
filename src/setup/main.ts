import { createSystemClock } from "../shared/machine/clock-and-log.ts";
import { runCommands } from "../shared/machine/command-line.ts";
import { onStopSignal } from "../shared/machine/stop-signals.ts";
import { createSetupProgram } from "./program.ts";

const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
let isAsked = false;
onStopSignal(() => {
  if (isAsked) process.exit(1);
  isAsked = true;
  stop();
});

await runCommands((version) =>
  createSetupProgram({
    version,
    env: process.env,
    clock: createSystemClock(),
    write: (text) => process.stdout.write(text),
    input: process.stdin,
    isTerminal: process.stdin.isTTY === true,
    stopped,
  }).parseAsync(),
);
