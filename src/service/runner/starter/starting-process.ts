import { createSystemClock } from "../../../system-clock.ts";
import { startProcessGroup } from "../process-group.ts";
import { TailBuffer } from "../tail-buffer.ts";
import { isStarterOrder, type StartedProgram, type StarterEnding } from "./starter-calls.ts";

const MAX_STDERR_BYTES = 8000;

const clock = createSystemClock();
const running = new Map<number, { abort: AbortController; over: Promise<void> }>();

async function run(id: number, program: StartedProgram, abort: AbortController): Promise<void> {
  const chunks: Buffer[] = [];
  const words = new TailBuffer(MAX_STDERR_BYTES);
  const { stdin, ...options } = program;
  const group = startProcessGroup({
    ...options,
    clock,
    signal: abort.signal,
    onStdout: (chunk) => chunks.push(chunk),
    onStderr: (chunk) => words.add(chunk),
  });
  group.stdin.end(stdin);
  const ending = await group.ended;
  running.delete(id);
  const answer: StarterEnding = { id, ending, stdout: Buffer.concat(chunks), stderr: words.toString() };
  if (process.connected) process.send?.(answer, undefined, {}, () => {});
}

process.on("message", (message) => {
  if (!isStarterOrder(message)) return;
  const { id, program } = message;
  if (program === undefined) {
    running.get(id)?.abort.abort();
    return;
  }
  const abort = new AbortController();
  running.set(id, { abort, over: run(id, program, abort) });
});
// Whoever stops the service may signal all its processes: what runs now is the service's to stop.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
// The service has ended, however that was.
process.on("disconnect", () => {
  for (const { abort } of running.values()) abort.abort();
  void Promise.all([...running.values()].map(({ over }) => over)).then(() => process.exit());
});
