import { randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * What tells this runner's folder from those of others, as long as it is there. A service prefers
 * it for jobs whose agents left their sessions in it.
 */
export async function machineOf(dataDir: string): Promise<string> {
  const file = join(dataDir, "machine");
  const known = (await readFile(file, "utf8").catch(() => "")).trim();
  if (/^[\da-f-]{36}$/.test(known)) return known;
  const fresh = randomUUID();
  await writeFile(file, `${fresh}\n`, { mode: 0o600 });
  return fresh;
}
