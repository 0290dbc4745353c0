import { readdir, readFile } from "node:fs/promises";

/**
 * Resolves to the processes whose command line contains these words. The words must be this test's
 * own, because other tests run at the same time.
 */
export async function processesOf(words: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of await readdir("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (line.replaceAll("\0", " ").includes(words)) found.push(pid);
  }
  return found;
}
