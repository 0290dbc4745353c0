import { readdir, readFile } from "node:fs/promises";

/** A process as the kernel describes it. */
export type ProcessStat = {
  /** False once it has ended, also while nobody has asked for its exit code yet. */
  isRunning: boolean;
  /** The id of its process group. */
  group: number;
  /** When it started, in the kernel's ticks since boot: with the process id, this names it for good. */
  startedAt: string;
};

/** Reads `/proc/<pid>/stat`; null where there is no such process, or no such file system. */
export async function processStat(pid: number | string): Promise<ProcessStat | null> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // The second field, the name in parentheses, may hold anything; the others are counted from the third.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, , group] = fields;
  const [threads, startedAt] = [fields[17], fields[19]];
  if (state === undefined || startedAt === undefined) return null;
  // A process whose first thread has ended is shown as a zombie while its other threads go on.
  const isRunning = !/[ZX]/.test(state) || Number(threads) > 1;
  return { isRunning, group: Number(group), startedAt };
}

/** All processes of this machine that this process can see; empty where there is no `/proc`. */
export async function allProcessStats(): Promise<ProcessStat[]> {
  const names = await readdir("/proc").catch(() => []);
  const stats = await Promise.all(names.filter((name) => /^\d+$/.test(name)).map(processStat));
  return stats.filter((stat) => stat !== null);
}
