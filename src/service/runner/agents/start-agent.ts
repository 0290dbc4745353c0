import { TailBuffer } from "../tail-buffer.ts";
import type { ProcessOptions } from "../process-group.ts";
import type { AgentRun } from "./agent.ts";

/** Standard error kept for the reason of a failure, in bytes. */
const MAX_LAST_WORDS_BYTES = 4000;

/** Starts the agent's program, contained and within its limits, and notes that it runs. Where that can't be noted, it doesn't run on. */
export async function startAgent(run: AgentRun, onStdout: ProcessOptions["onStdout"]) {
  const [program = "", ...programArgs] = run.settings.command;
  const words = new TailBuffer(MAX_LAST_WORDS_BYTES);
  const group = run.start({
    ...run.sandbox.contain({ command: program, args: programArgs }, { env: run.env }),
    timeLimitMs: run.settings.timeLimitMs,
    maxOutputBytes: run.settings.maxOutputBytes,
    clock: run.clock,
    signal: run.signal,
    onStdout,
    onStderr: (chunk) => words.add(chunk),
  });
  try {
    const pid = await group.started;
    if (pid !== undefined) await run.onStarted(pid);
  } catch (error) {
    await group.stop();
    throw error;
  }
  return { group, lastWords: () => run.redact(words.toString()) };
}
