import { runAsCommand } from "../shared/machine/command-line.ts";
import { onStopSignal } from "../shared/machine/stop-signals.ts";
import { createSetupProgram } from "./program.ts";

const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
let isAsked = false;
onStopSignal(() => {
  if (isAsked) process.exit(1);
  isAsked = true;
  stop();
});

await runAsCommand(process.env, (own) => createSetupProgram({ ...own, stopped }));
