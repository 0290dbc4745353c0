import { readdir, readFile } from "node:fs/promises";

/** Processes whose command line holds the words, which must be this test's own: other tests run beside it. */
export async function processesOf(words: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of await readdir("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (line.replaceAll("\0", " ").includes(words)) found.push(pid);
  }
  return found;
}
