import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type TempDir = AsyncDisposable & { path: string; file(name: string): string };

/** A folder of its own for one test, removed afterwards. */
export async function openTempDir(): Promise<TempDir> {
  const path = await mkdtemp(join(tmpdir(), "docs-agent-test-"));
  return {
    path,
    file: (name) => join(path, name),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}
