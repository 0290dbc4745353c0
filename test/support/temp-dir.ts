import { accessSync, constants, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MEMORY = "/dev/shm";
const ENOUGH_BYTES = 2 * 2 ** 30;

/**
 * From now on, files of tests are in memory if that has room, unless `TMPDIR` says where to put
 * them. Waiting for a disk takes half of the time. A process that is killed loses nothing there
 * either.
 */
export function useMemoryForFiles(): void {
  if (process.env["TMPDIR"] !== undefined) return;
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    // Tests start programs that they write.
    const mount = readFileSync("/proc/mounts", "utf8")
      .split("\n")
      .find((line) => line.split(" ")[1] === MEMORY);
    if (bavail * bsize < ENOUGH_BYTES || mount === undefined || mount.includes("noexec")) return;
    const folder = join(MEMORY, `docs-agent-tests-${process.getuid?.()}`);
    mkdirSync(folder, { recursive: true });
    process.env["TMPDIR"] = folder;
  } catch {
    // Not every system has it.
  }
}

const KEPT = "TEST_KEPT_DIR";

/** From now on, {@link openKeptDir} works in this process's workers, until this process ends. */
export function keepForOneRun(): void {
  const kept = mkdtempSync(join(tmpdir(), "docs-agent-kept-"));
  process.env[KEPT] = kept;
  process.once("exit", () => rmSync(kept, { recursive: true, force: true }));
}

/** A folder for what one worker makes once for all its files. It is removed at the run's end. */
export async function openKeptDir(): Promise<Pick<TempDir, "path" | "file">> {
  const path = await mkdtemp(join(process.env[KEPT] ?? tmpdir(), "made-once-"));
  return { path, file: (name) => join(path, name) };
}

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
