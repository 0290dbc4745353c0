import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

const TRIED_WITHIN_MS = 10_000;
const CALLS = "trace=fsync,fdatasync";

/**
 * A call with which a program waited for the disk, as `strace` saw it: when it began, and how long
 * it took.
 */
export type DiskWait = { atMs: number; tookMs: number };

/**
 * Returns the command to put before a program so that its fsyncs and fdatasyncs are written to a
 * file. The filter is in the kernel, so everything else runs at full speed. With `-D` the program
 * stays a child of the bench.
 */
export function straceTo(path: string): string[] {
  return ["strace", "-D", "-f", "-q", "--seccomp-bpf", "-ttt", "-T", "-e", CALLS, "-o", path];
}

/** True if `strace` is installed and allowed. */
export function canTrace(): boolean {
  const args = ["-f", "-q", "-e", CALLS, "-o", "/dev/null", process.execPath, "--version"];
  return spawnSync("strace", args, { stdio: "ignore", timeout: TRIED_WITHIN_MS }).status === 0;
}

/**
 * Reads those calls from the file of {@link straceTo} that began between the two times, in epoch
 * milliseconds.
 */
export function readDiskWaits(path: string, fromMs: number, toMs: number): DiskWait[] {
  if (!existsSync(path)) return [];
  const waits: DiskWait[] = [];
  for (const line of readFileSync(path, "utf8").split("\n")) {
    // Matches whole calls, and the ends of calls during which `strace` saw another thread.
    const [, endedS, tookS] = /^\d+ +(\d+\.\d+) .*\bf(?:data)?sync.*= 0 <(\d+\.\d+)>$/.exec(line) ?? [];
    if (endedS === undefined) continue;
    const wait = { atMs: Number(endedS) * 1000, tookMs: Number(tookS) * 1000 };
    if (wait.atMs >= fromMs && wait.atMs < toMs) waits.push(wait);
  }
  return waits;
}
