import { existsSync, readdirSync, readFileSync } from "node:fs";
import { BenchError } from "./scenario.ts";

/**
 * CPU time a process has used since its start, all its threads together, milliseconds. Linux only.
 */
export function cpuMs(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync(tasks)) throw new BenchError("CPU time is read from /proc, which is there on Linux only.");
  // In nanoseconds, where /proc/<pid>/stat counts in hundredths of a second. A thread that has
  // ended is not counted.
  const nanoseconds = readdirSync(tasks).map((task) => {
    const [onCpu] = readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ");
    return Number(onCpu);
  });
  return nanoseconds.reduce((sum, ns) => sum + ns, 0) / 1e6;
}

/** Resident memory, MB of 2^20 bytes. Looking does not change it. Linux only. */
export function rssMb(pid: number): number {
  const path = `/proc/${pid}/status`;
  if (!existsSync(path)) throw new BenchError("Memory is read from /proc, which is there on Linux only.");
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(path, "utf8")) ?? [];
  return Number(kilobytes) / 1024;
}
