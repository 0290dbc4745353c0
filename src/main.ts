import { setImmediate } from "node:timers/promises";
import { DocsAgentError, messageOf } from "./core/errors.ts";
import { StopSignals } from "./process/stop-signals.ts";

// Before the modules of the program are loaded, which takes most of a start.
const stop = new StopSignals();
try {
  const { run } = await import("./program.ts");
  // Node delivers a signal between two turns of the event loop; loading took one.
  const isAsked = await Promise.race([stop.asked.then(() => true), setImmediate(false)]);
  if (!isAsked) await run({ args: process.argv.slice(2), env: process.env, stop });
} catch (thrown) {
  // Our own errors say what to do; a stack trace would bury it.
  const known = thrown instanceof DocsAgentError;
  process.stderr.write(`${known || !(thrown instanceof Error) ? messageOf(thrown) : thrown.stack}\n`);
  process.exitCode = 1;
}
// Anything that still holds the process open has nothing left to do.
process.exit();
