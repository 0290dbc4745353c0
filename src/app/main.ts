import { setImmediate } from "node:timers/promises";
import { shownError } from "../shared/errors.ts";
import { StopSignals } from "../shared/machine/stop-signals.ts";

// Comes before loading the program's modules, which takes most of a start.
const stop = new StopSignals();
try {
  const { run } = await import("./program.ts");
  // Node delivers signals between turns of the event loop, and loading took one turn.
  const isAsked = await Promise.race([stop.asked.then(() => true), setImmediate(false)]);
  if (!isAsked) await run({ args: process.argv.slice(2), env: process.env, stop });
} catch (thrown) {
  process.stderr.write(`${shownError(thrown)}\n`);
  process.exitCode = 1;
}
// Anything that still holds the process open has nothing left to do.
process.exit();
