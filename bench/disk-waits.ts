import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

const TRIED_WITHIN_MS = 10_000;
const CALLS = "trace=fsync,fdatasync";

/**
 * The calls with which a program waits for the disk, as `strace` saw them: when each began, and how
 * long it took.
 */
export type DiskWait = { atMs: number; tookMs: number };

/**
 * Put before a program, writes its fsyncs and fdatasyncs to a file. With the filter in the kernel
 * everything else runs at full speed; `-D` leaves the program a child of the bench.
 */
export function straceTo(path: string): string[] {
  return ["strace", "-D", "-f", "-q", "--seccomp-bpf", "-ttt", "-T", "-e", CALLS, "-o", path];
}

/** Whether `strace` is there and may be used. */
export function canTrace(): boolean {
  const args = ["-f", "-q", "-e", CALLS, "-o", "/dev/null", process.execPath, "--version"];
  return spawnSync("strace", args, { stdio: "ignore", timeout: TRIED_WITHIN_MS }).status === 0;
}

/** What {@link straceTo} has written that began between the two times, epoch milliseconds. */
export function readDiskWaits(path: string, fromMs: number, toMs: number): DiskWait[] {
  if (!existsSync(path)) return [];
  const waits: DiskWait[] = [];
  for (const line of readFileSync(path, "utf8").split("\n")) {
    // Whole calls, and the ends of those during which another thread was seen.
    const [, endedS, tookS] = /^\d+ +(\d+\.\d+) .*\bf(?:data)?sync.*= 0 <(\d+\.\d+)>$/.exec(line) ?? [];
    if (endedS === undefined) continue;
    const wait = { atMs: Number(endedS) * 1000, tookMs: Number(tookS) * 1000 };
    if (wait.atMs >= fromMs && wait.atMs < toMs) waits.push(wait);
  }
  return waits;
}
