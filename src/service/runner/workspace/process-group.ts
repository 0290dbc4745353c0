import { type ChildProcess, spawn } from "node:child_process";
import { addAbortListener, once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { type Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../../shared/machine/ports.ts";
import { messageOf } from "../../../shared/errors.ts";
import { createSystemClock } from "../../../shared/machine/clock-and-log.ts";

/** How a process ended, or why we ended it. */
export type Ending =
  | { kind: "exited"; code: number | null; signal: string | null }
  | { kind: "not-started"; problem: string }
  | { kind: "time-limit" }
  | { kind: "output-limit" }
  | { kind: "stopped" };

export type ProcessOptions = {
  command: string;
  args: readonly string[];
  /** The folder to start it in, on this machine. */
  cwd: string;
  env: Readonly<Record<string, string>>;
  /**
   * Each is written to a file descriptor of its own, from 3 on. In the arguments, every process of
   * this machine could read it.
   */
  inputs?: readonly Buffer[] | undefined;
  timeLimitMs: number;
  /** For standard output and standard error together. */
  maxOutputBytes: number;
  clock: Clock;
  signal: AbortSignal;
  /** No more is read until the returned promise has resolved. */
  onStdout: (chunk: Buffer) => Promise<void> | void;
  onStderr: (chunk: Buffer) => void;
};

const GRACE_MS = 2000;
/**
 * How long we wait for output after the end. A process that left the group may never close the
 * pipe.
 */
const DRAIN_MS = 1000;
/**
 * A killed process ends when it is scheduled the next time. On a busy machine, that takes a while.
 */
const KILLED_WITHIN_MS = 10_000;
/** The most bytes of standard error that are kept. */
const MAX_STDERR_BYTES = 8000;

/**
 * Starts a program, without a shell, in its own process group. The whole group is killed when the
 * program ends, at the time limit, at the output limit, and when `signal` aborts. A process that
 * moves to another group escapes this. See `sandbox/`.
 */
export function startProcessGroup(options: ProcessOptions) {
  const { promise: exited, resolve: exit } = Promise.withResolvers<Ending>();
  const child = startChild(options, exit);
  // If no more files can be opened, Node.js creates no streams, and reports that with an event.
  if (!child?.stdin || !child.stdout || !child.stderr) {
    const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
    return { pid: undefined, stdin: nowhere, ended: exited, stop: () => exited };
  }
  const { pid, stdin, stdout, stderr } = child;
  for (const [index, input] of (options.inputs ?? []).entries()) {
    const pipe: unknown = child.stdio[3 + index];
    if (!(pipe instanceof Writable)) continue;
    pipe.on("error", () => {});
    pipe.end(input);
  }
  // The process may end without reading its input. Its end is reported below.
  stdin.on("error", () => {});
  const closed = once(child, "close").catch(() => {});

  let reason: Ending | undefined;
  let hasExited = false;
  let kill: NodeJS.Timeout | undefined;
  function end(why: Ending): void {
    if (reason) return;
    reason = why;
    signalGroup(pid, "SIGTERM");
    // Doesn't use the given clock, which may stand still while a person is asked.
    kill = setTimeout(() => signalGroup(pid, "SIGKILL"), GRACE_MS);
  }

  let outputBytes = 0;
  function take(from: Readable, chunk: Buffer, onChunk: ProcessOptions["onStdout"]): void {
    outputBytes += chunk.length;
    if (outputBytes > options.maxOutputBytes) {
      stdout.destroy();
      stderr.destroy();
      end({ kind: "output-limit" });
      return;
    }
    const taken = onChunk(chunk);
    if (!(taken instanceof Promise)) return;
    from.pause();
    void taken.finally(() => from.resume());
  }
  stdout.on("data", (chunk: Buffer) => take(stdout, chunk, options.onStdout));
  stderr.on("data", (chunk: Buffer) => take(stderr, chunk, options.onStderr));

  const stopLimit = options.clock.wakeAt(options.clock.now() + options.timeLimitMs, () =>
    end({ kind: "time-limit" }),
  );
  const abortListener = addAbortListener(options.signal, () => end({ kind: "stopped" }));

  async function finish(): Promise<Ending> {
    const ending = await exited;
    hasExited = true;
    clearTimeout(kill);
    stopLimit();
    abortListener[Symbol.dispose]();
    await killGroup(pid);
    await Promise.race([closed, sleep(DRAIN_MS, undefined, { ref: false })]);
    for (const stream of [stdin, stdout, stderr]) stream.destroy();
    return reason ?? ending;
  }
  const ended = finish();

  return {
    /** The process id, which is also the group's. Undefined if it couldn't be started. */
    pid,
    stdin,
    /**
     * Resolves when the process is gone, its group was killed and its output was read. Never
     * rejects.
     */
    ended,
    /** Sends SIGTERM to the whole group, and later SIGKILL to what is left of it. */
    stop() {
      // A process that ended by itself wasn't stopped.
      if (!hasExited) end({ kind: "stopped" });
      return ended;
    },
  };
}

/** Returns null if it couldn't be started. Then `exit` is called with the reason. */
function startChild(options: ProcessOptions, exit: (ending: Ending) => void): ChildProcess | null {
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
    return child;
  } catch (error) {
    fail(error);
    return null;
  }
}

/**
 * Sends SIGKILL to what is left of a group. Resolves when none of it is running anymore, or after
 * ten seconds at the latest.
 */
export async function killGroup(group: number | undefined): Promise<void> {
  const giveUpAt = performance.now() + KILLED_WITHIN_MS;
  while (signalGroup(group, "SIGKILL") && performance.now() < giveUpAt && (await isRunning(group))) {
    await sleep(20);
  }
}

/** Returns true if there was such a group. */
function signalGroup(group: number | undefined, signal: NodeJS.Signals): boolean {
  if (group === undefined) return false;
  try {
    return process.kill(-group, signal);
  } catch {
    // ESRCH means that all are gone, EPERM that none of them is ours.
    return false;
  }
}

/**
 * True if a process of the group is still running. Signals also reach processes that have ended but
 * weren't reaped. In a container without an init process those stay for ever, and elsewhere for up
 * to a second.
 */
async function isRunning(group: number | undefined): Promise<boolean> {
  const pids = await allPids();
  const stats = await Promise.all(pids.map(processStat));
  return pids.length === 0 || stats.some((stat) => stat?.group === group && stat?.isRunning);
}

/** The ids of all processes that this process can see. Empty if there is no `/proc`. */
export async function allPids(): Promise<string[]> {
  return (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
}

/**
 * Reads `/proc/<pid>/stat`. Null if there is no such process or no such file system. A process that
 * has ended isn't running, even if nobody has read its exit code yet. `startedAt`, in the kernel's
 * ticks since boot, is unique together with the process id.
 */
export async function processStat(pid: number | string) {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // The second field, the name in parentheses, may contain anything, so the others are counted from
  // the third.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, , group] = fields;
  const [threads, startedAt] = [fields[17], fields[19]];
  if (state === undefined || startedAt === undefined) return null;
  // A process whose first thread has ended is shown as a zombie although its other threads
  // continue.
  const isRunning = !/[ZX]/.test(state) || Number(threads) > 1;
  return { isRunning, group: Number(group), startedAt };
}

/** A program to run to its end, and its standard input. No shell interprets the arguments. */
type ProgramRun = Omit<ProcessOptions, "clock" | "signal" | "onStdout" | "onStderr"> & {
  stdin: Uint8Array | string;
  /** Called with what it writes to standard error, while it runs. */
  onStderr?: ProcessOptions["onStderr"];
};

/**
 * Resolves when the program has ended, which happens soon after `signal` aborts. `stderr` is the
 * end of standard error. Never rejects.
 */
export async function runProgram({ stdin, onStderr, ...program }: ProgramRun, signal: AbortSignal) {
  const chunks: Buffer[] = [];
  const words = createTail(MAX_STDERR_BYTES);
  const group = startProcessGroup({
    ...program,
    clock: createSystemClock(),
    signal,
    onStdout: (chunk) => void chunks.push(chunk),
    onStderr: (chunk) => {
      words.add(chunk);
      onStderr?.(chunk);
    },
  });
  group.stdin.end(stdin);
  const ending = await group.ended;
  return { ending, stdout: Buffer.concat(chunks), stderr: words.text() };
}

/** Keeps the end of a program's output. */
export function createTail(maxBytes: number) {
  let kept = Buffer.alloc(0);
  return {
    add(chunk: Buffer) {
      kept = Buffer.concat([kept, chunk.subarray(-maxBytes)]).subarray(-maxBytes);
    },
    text: () => kept.toString("utf8"),
  };
}
