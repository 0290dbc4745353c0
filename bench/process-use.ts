import { existsSync, readdirSync, readFileSync } from "node:fs";
import { BenchError } from "./scenario.ts";

/**
 * Returns the CPU time that a process has used since its start in all its living threads, in
 * milliseconds. Linux only.
 */
export function cpuMs(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) throw new BenchError("CPU time is read from /proc, which is there on Linux only.");
  // This file counts in nanoseconds, and /proc/<pid>/stat in hundredths of a second. It leaves out
  // threads that have ended.
  const nanoseconds = readdirSync(tasks).map((task) => {
    const [onCpu] = readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ");
    return Number(onCpu);
  });
  return nanoseconds.reduce((sum, ns) => sum + ns, 0) / 1e6;
}

/** Returns the resident memory in MB of 2^20 bytes. Reading it doesn't change it. Linux only. */
export function rssMb(pid: number): number {
  const path = `/proc/${pid}/status`;
  if (!existsSync(path)) throw new BenchError("Memory is read from /proc, which is there on Linux only.");
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(path, "utf8")) ?? [];
  return Number(kilobytes) / 1024;
}
