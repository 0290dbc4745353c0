import { startProcessGroup } from "../process-group.ts";
import type { AgentRun } from "./agent.ts";

/** Standard error kept for the reason of a failure, in bytes. */
const MAX_LAST_WORDS_BYTES = 4000;

/** Starts the agent's program, contained and within its limits, and notes that it runs. */
export async function startAgent(run: AgentRun, onStdout: (chunk: Buffer) => void) {
  const [program = "", ...programArgs] = run.settings.command;
  let words = Buffer.alloc(0);
  const { command, args } = run.contain({ command: program, args: programArgs });
  const group = startProcessGroup({
    command,
    args,
    cwd: run.tree,
    env: run.env,
    timeLimitMs: run.settings.timeLimitMs,
    maxOutputBytes: run.settings.maxOutputBytes,
    clock: run.clock,
    signal: run.signal,
    onStdout,
    onStderr: (chunk) => (words = Buffer.concat([words, chunk]).subarray(-MAX_LAST_WORDS_BYTES)),
  });
  if (group.pid !== undefined) await run.onStarted(group.pid);
  return { group, lastWords: () => run.redact(words.toString("utf8")) };
}
