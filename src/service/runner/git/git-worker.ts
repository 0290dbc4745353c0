import { parentPort } from "node:worker_threads";
import { createSystemClock } from "../../../system-clock.ts";
import { startProcessGroup } from "../process-group.ts";
import { TailBuffer } from "../tail-buffer.ts";
import type { GitEnding, GitOrder } from "./git-calls.ts";

const MAX_STDERR_BYTES = 8000;

const clock = createSystemClock();
const running = new Map<number, AbortController>();

async function run(id: number, order: NonNullable<GitOrder["process"]>): Promise<void> {
  const abort = new AbortController();
  running.set(id, abort);
  const chunks: Buffer[] = [];
  const words = new TailBuffer(MAX_STDERR_BYTES);
  const { stdin, ...options } = order;
  const group = startProcessGroup({
    ...options,
    command: "git",
    clock,
    signal: abort.signal,
    onStdout: (chunk) => chunks.push(chunk),
    onStderr: (chunk) => words.add(chunk),
  });
  group.stdin.end(stdin);
  const ending = await group.ended;
  running.delete(id);
  const answer: GitEnding = { id, ending, stdout: Buffer.concat(chunks), stderr: words.toString() };
  parentPort?.postMessage(answer);
}

parentPort?.on("message", ({ id, process }: GitOrder) => {
  if (process === undefined) running.get(id)?.abort();
  else void run(id, process);
});
