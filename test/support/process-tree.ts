import { readdirSync, readFileSync } from "node:fs";

/** A process's parent, by its number. Null if it is gone. */
function parentOf(pid: number): number | null {
  try {
    // The name, in parentheses, may contain anything.
    const [, parent] = /^.*\) \S (\d+) /s.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
    return Number(parent);
  } catch {
    return null;
  }
}

/** A process and all that it has started, directly or not. */
export function treeOf(root: number): number[] {
  const parents = new Map<number, number | null>();
  for (const name of readdirSync("/proc"))
    if (/^\d+$/.test(name)) parents.set(Number(name), parentOf(Number(name)));
  const tree = [root];
  for (const above of tree) for (const [pid, parent] of parents) if (parent === above) tree.push(pid);
  return tree;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended meanwhile.
  }
}

/**
 * Stops a process and all that it has started, as on a machine that sleeps. Returns what wakes it.
 */
export function freezeTree(root: number): () => void {
  const frozen = new Set<number>();
  // What is started meanwhile is there the next time.
  for (let before = -1; before !== frozen.size;) {
    before = frozen.size;
    for (const pid of treeOf(root)) {
      if (frozen.has(pid)) continue;
      frozen.add(pid);
      signal(pid, "SIGSTOP");
    }
  }
  return () => {
    for (const pid of frozen) signal(pid, "SIGCONT");
  };
}

/** Kills a process and all that it has started, as a power cut does. */
export function killTree(root: number): void {
  freezeTree(root);
  for (const pid of treeOf(root)) signal(pid, "SIGKILL");
}
