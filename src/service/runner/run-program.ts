import { createSystemClock } from "../../system-clock.ts";
import { type Ending, startProcessGroup } from "./process-group.ts";
import { TailBuffer } from "./tail-buffer.ts";

/** A program that is run to its end, and what it gets on its standard input. Arguments are never a shell's words. */
export type ProgramRun = {
  command: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  stdin: Uint8Array | string;
  timeLimitMs: number;
  maxOutputBytes: number;
};

/** What a program came to. Of standard error, the end. */
export type RanProgram = { ending: Ending; stdout: Buffer; stderr: string };

const MAX_STDERR_BYTES = 8000;
const clock = createSystemClock();

/** Resolves when the program has ended, which it does soon after `signal` aborts. Never rejects. */
export async function runProgram(
  { stdin, ...program }: ProgramRun,
  signal: AbortSignal,
): Promise<RanProgram> {
  const chunks: Buffer[] = [];
  const words = new TailBuffer(MAX_STDERR_BYTES);
  const group = startProcessGroup({
    ...program,
    clock,
    signal,
    onStdout: (chunk) => void chunks.push(chunk),
    onStderr: (chunk) => words.add(chunk),
  });
  group.stdin.end(stdin);
  const ending = await group.ended;
  return { ending, stdout: Buffer.concat(chunks), stderr: words.toString() };
}
