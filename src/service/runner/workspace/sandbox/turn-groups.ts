import { readdir, readFile, rmdir, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { codeOf } from "../../../../shared/errors.ts";
import type { AgentLimits } from "./sandbox.ts";

/** Creates control groups for turns. */
export type TurnGroups = NonNullable<Awaited<ReturnType<typeof openTurnGroups>>>;

const PREFIX = "turn-";
const MEGABYTE = 1024 ** 2;
/**
 * A killed process ends when it is scheduled the next time. On a busy machine, that takes a while.
 */
const REMOVE_WITHIN_MS = 10_000;

/**
 * Finds out where this process may create control groups (cgroup v2), and removes those that an
 * earlier service left there. Null if it may not: that takes a systemd unit that delegates its
 * groups and runs the service in one of its own (`Delegate=` and `DelegateSubgroup=`, systemd 254).
 * No other group is ours to divide.
 */
export async function openTurnGroups(controllers = ["memory", "pids"]) {
  const mounts = await readFile("/proc/self/mountinfo", "utf8").catch(() => "");
  /** Where the whole of cgroup v2 is mounted. */
  const mount = /^\d+ \d+ \S+ \/ (\S+) .* - cgroup2 /m.exec(mounts)?.[1];
  const own = /^0::(.+)$/m.exec(await readFile("/proc/self/cgroup", "utf8").catch(() => ""))?.[1];
  if (mount === undefined || own === undefined || !dirname(own).endsWith(".service")) return null;
  const folder = join(mount, dirname(own));
  const offered = await readFile(join(folder, "cgroup.controllers"), "utf8").catch(() => "");
  const enabled = new Set<string>();
  for (const name of controllers) {
    if (!offered.split(/\s+/).includes(name)) continue;
    const enabling = writeFile(join(folder, "cgroup.subtree_control"), `+${name}`);
    await enabling.then(() => enabled.add(name)).catch(() => {});
  }
  if (enabled.size === 0) return null;
  for (const name of await readdir(folder)) {
    if (name.startsWith(PREFIX)) await removeGroup(join(folder, name));
  }
  let opened = 0;
  return {
    /** What they limit here. */
    bounds: { memory: enabled.has("memory"), processes: enabled.has("pids") },
    /**
     * Opens a turn's group. Everything that is started in it is limited together, and killed when
     * it is disposed of.
     */
    open: async (limits: AgentLimits) => {
      const group = join(folder, `${PREFIX}${++opened}`);
      await mkdir(group);
      if (enabled.has("memory")) {
        await writeFile(join(group, "memory.max"), String(limits.memoryMegabytes * MEGABYTE));
        // Absent if the kernel has no swap accounting.
        await writeFile(join(group, "memory.swap.max"), "0", { flag: "r+" }).catch(() => {});
      }
      if (enabled.has("pids")) await writeFile(join(group, "pids.max"), String(limits.processes));
      return {
        /** A process that writes 0 to this file joins the group. */
        procs: join(group, "cgroup.procs"),
        /** True if the kernel ended a process of it because its memory was used up. */
        ranOutOfMemory: async () =>
          /^oom_kill [1-9]/m.test(await readFile(join(group, "memory.events"), "utf8").catch(() => "")),
        [Symbol.asyncDispose]: () => removeGroup(group),
      };
    },
  };
}

/**
 * Kills everything in a group, and removes it. What can't be removed stays until the next start.
 */
async function removeGroup(group: string): Promise<void> {
  await writeFile(join(group, "cgroup.kill"), "1").catch(() => {});
  const giveUpAt = performance.now() + REMOVE_WITHIN_MS;
  while (performance.now() < giveUpAt) {
    const problem = await rmdir(group).catch((error: unknown) => error);
    if (problem === undefined || codeOf(problem) !== "EBUSY") return;
    await sleep(20);
  }
}
