import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { type Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../src/core/ports/process.ts";
import { messageOf } from "../../src/core/errors.ts";
import { createSystemClock } from "../../src/process/system-clock.ts";

/** How a process ended, or why it was ended. */
export type Ending =
  | { kind: "exited"; code: number | null; signal: string | null }
  | { kind: "not-started"; problem: string }
  | { kind: "time-limit" }
  | { kind: "output-limit" }
  | { kind: "stopped" };

export type ProcessOptions = {
  command: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** Written to its file descriptors from 3 on. */
  inputs?: readonly Buffer[] | undefined;
  timeLimitMs: number;
  /** Standard output and standard error together. */
  maxOutputBytes: number;
  clock: Clock;
  signal: AbortSignal;
  /** Nothing more is read until what it returns has resolved. */
  onStdout: (chunk: Buffer) => Promise<void> | void;
  onStderr: (chunk: Buffer) => void;
};

export type ProcessGroup = {
  /** Its id, which is the group's too; undefined if it could not be started. */
  readonly pid: number | undefined;
  readonly stdin: Writable;
  /**
   * Resolves when the process is gone, its group was killed and its output was read. Never rejects.
   */
  readonly ended: Promise<Ending>;
  /** SIGTERM to the whole group, SIGKILL to what is left after a grace. */
  stop(): Promise<Ending>;
};

const GRACE_MS = 2000;
/**
 * How long output is awaited after the end: something that left the group may never close the pipe.
 */
const DRAIN_MS = 1000;
/**
 * A killed process is gone as soon as it is scheduled once more; on a busy machine that takes a
 * while.
 */
const KILLED_WITHIN_MS = 10_000;
/** What is kept of what a program complains of. */
const MAX_STDERR_BYTES = 8000;

type Child = ChildProcess & { stdin: Writable; stdout: Readable; stderr: Readable };

/**
 * Starts a program, without a shell, in a process group of its own, which is killed as a whole at
 * its end, at the time limit, at the output limit and when `signal` aborts. A process that moves
 * itself to another group escapes this; see `sandbox/`.
 */
export function startProcessGroup(options: ProcessOptions): ProcessGroup {
  const { promise: exited, resolve: exit } = Promise.withResolvers<Ending>();
  const started = startChild(options, exit);
  if (started === null) {
    return { pid: undefined, stdin: nowhere(), ended: exited, stop: () => exited };
  }
  const child = started;
  for (const [index, input] of (options.inputs ?? []).entries()) {
    const pipe: unknown = child.stdio[3 + index];
    if (!(pipe instanceof Writable)) continue;
    pipe.on("error", () => {});
    pipe.end(input);
  }
  // The process may end without reading its input; its end is reported below.
  child.stdin.on("error", () => {});
  const closed = once(child, "close").catch(() => {});

  let reason: Ending | undefined;
  let hasExited = false;
  let kill: NodeJS.Timeout | undefined;
  function end(why: Ending): void {
    if (reason) return;
    reason = why;
    signalGroup(child.pid, "SIGTERM");
    // Not by the given clock: that may stand still for as long as a person is asked.
    kill = setTimeout(() => signalGroup(child.pid, "SIGKILL"), GRACE_MS);
  }

  let outputBytes = 0;
  function take(from: Readable, chunk: Buffer, onChunk: ProcessOptions["onStdout"]): void {
    outputBytes += chunk.length;
    if (outputBytes > options.maxOutputBytes) {
      child.stdout.destroy();
      child.stderr.destroy();
      end({ kind: "output-limit" });
      return;
    }
    const taken = onChunk(chunk);
    if (!(taken instanceof Promise)) return;
    from.pause();
    void taken.finally(() => from.resume());
  }
  child.stdout.on("data", (chunk: Buffer) => take(child.stdout, chunk, options.onStdout));
  child.stderr.on("data", (chunk: Buffer) => take(child.stderr, chunk, options.onStderr));

  const stopLimit = options.clock.wakeAt(options.clock.now() + options.timeLimitMs, () =>
    end({ kind: "time-limit" }),
  );
  const onAbort = () => end({ kind: "stopped" });
  options.signal.addEventListener("abort", onAbort, { once: true });
  if (options.signal.aborted) onAbort();

  async function finish(): Promise<Ending> {
    const ending = await exited;
    hasExited = true;
    clearTimeout(kill);
    stopLimit();
    options.signal.removeEventListener("abort", onAbort);
    await killGroup(child.pid);
    await Promise.race([closed, sleep(DRAIN_MS, undefined, { ref: false })]);
    child.stdin.destroy();
    child.stdout.destroy();
    child.stderr.destroy();
    return reason ?? ending;
  }
  const ended = finish();

  return {
    pid: child.pid,
    stdin: child.stdin,
    ended,
    stop() {
      // One that has ended by itself wasn't stopped.
      if (!hasExited) end({ kind: "stopped" });
      return ended;
    },
  };
}

/** Null: it could not be started, and `exit` is told why. */
function startChild(options: ProcessOptions, exit: (ending: Ending) => void): Child | null {
  const fail = (error: unknown) => exit({ kind: "not-started", problem: messageOf(error) });
  try {
    const child = spawn(options.command, [...options.args], {
      cwd: options.cwd,
      env: { ...options.env },
      detached: true,
      stdio: ["pipe", "pipe", "pipe", ...(options.inputs ?? []).map(() => "pipe" as const)],
    });
    child.on("error", fail);
    child.once("exit", (code, signal) => exit({ kind: "exited", code, signal }));
    return hasStreams(child) ? child : null;
  } catch (error) {
    fail(error);
    return null;
  }
}

/** Where no more files can be opened, Node.js makes no streams. It tells of that by an event. */
function hasStreams(child: ChildProcess): child is Child {
  return Boolean(child.stdin && child.stdout && child.stderr);
}

function nowhere(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}

/**
 * SIGKILL to what is left of a group; resolves when nothing of it runs any more, or after ten
 * seconds at the latest.
 */
export async function killGroup(group: number | undefined): Promise<void> {
  const giveUpAt = performance.now() + KILLED_WITHIN_MS;
  while (signalGroup(group, "SIGKILL") && performance.now() < giveUpAt && (await isRunning(group))) {
    await sleep(20);
  }
}

/** Returns whether there was such a group. */
function signalGroup(group: number | undefined, signal: NodeJS.Signals): boolean {
  if (group === undefined) return false;
  try {
    return process.kill(-group, signal);
  } catch {
    // ESRCH: all are gone. EPERM: none of them is ours.
    return false;
  }
}

/**
 * Whether a process of the group still runs. Signals also reach processes that have ended but that
 * nobody has reaped: in a container without an init they stay permanently, and elsewhere for up to
 * a second.
 */
async function isRunning(group: number | undefined): Promise<boolean> {
  const pids = await allPids();
  const stats = await Promise.all(pids.map(processStat));
  return pids.length === 0 || stats.some((stat) => stat?.group === group && stat?.isRunning);
}

/** The ids of all processes that this process can see; none where there is no `/proc`. */
export async function allPids(): Promise<string[]> {
  return (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
}

/** A process as the kernel describes it. */
export type ProcessStat = {
  /** False once it has ended, also while nobody has asked for its exit code yet. */
  isRunning: boolean;
  /** The id of its process group. */
  group: number;
  /**
   * When it started, in the kernel's ticks since boot: with the process id, this names it for good.
   */
  startedAt: string;
};

/** Reads `/proc/<pid>/stat`; null where there is no such process, or no such file system. */
export async function processStat(pid: number | string): Promise<ProcessStat | null> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // The second field, the name in parentheses, may hold anything; the others are counted from the
  // third.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, , group] = fields;
  const [threads, startedAt] = [fields[17], fields[19]];
  if (state === undefined || startedAt === undefined) return null;
  // A process whose first thread has ended is shown as a zombie while its other threads go on.
  const isRunning = !/[ZX]/.test(state) || Number(threads) > 1;
  return { isRunning, group: Number(group), startedAt };
}

/**
 * A program that is run to its end, and what it gets on its standard input. Arguments are never a
 * shell's words.
 */
export type ProgramRun = Pick<
  ProcessOptions,
  "command" | "args" | "cwd" | "env" | "inputs" | "timeLimitMs" | "maxOutputBytes"
> & { stdin: Uint8Array | string };

/** What a program came to. Of standard error, the end. */
export type RanProgram = { ending: Ending; stdout: Buffer; stderr: string };

/** Resolves when the program has ended, which it does soon after `signal` aborts. Never rejects. */
export async function runProgram(
  { stdin, ...program }: ProgramRun,
  signal: AbortSignal,
): Promise<RanProgram> {
  const chunks: Buffer[] = [];
  const words = new TailBuffer(MAX_STDERR_BYTES);
  const group = startProcessGroup({
    ...program,
    clock: createSystemClock(),
    signal,
    onStdout: (chunk) => void chunks.push(chunk),
    onStderr: (chunk) => words.add(chunk),
  });
  group.stdin.end(stdin);
  const ending = await group.ended;
  return { ending, stdout: Buffer.concat(chunks), stderr: words.toString() };
}

/** Keeps the end of what a program writes. */
export class TailBuffer {
  readonly #maxBytes: number;
  #kept = Buffer.alloc(0);

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(chunk: Buffer): void {
    this.#kept = Buffer.concat([this.#kept, chunk]).subarray(-this.#maxBytes);
  }

  toString(): string {
    return this.#kept.toString("utf8");
  }
}
