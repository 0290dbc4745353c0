import { accessSync, constants, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MEMORY = "/dev/shm";
const ENOUGH_BYTES = 2 * 2 ** 30;

/**
 * Puts files of tests into memory from now on, if that has room and `TMPDIR` isn't set. Waiting for
 * a disk would take half of the time. A killed process loses nothing there either.
 */
export function useMemoryForFiles(): void {
  if (process.env["TMPDIR"] !== undefined) return;
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    // Tests start programs that they have written there.
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

/** Makes {@link openKeptDir} work in this process's workers until this process ends. */
export function keepForOneRun(): void {
  const kept = mkdtempSync(join(tmpdir(), "docs-agent-kept-"));
  process.env[KEPT] = kept;
  process.once("exit", () => rmSync(kept, { recursive: true, force: true }));
}

/**
 * Opens a folder for files that a worker makes once for all its test files. It is removed at the
 * end of the run.
 */
export async function openKeptDir(): Promise<Pick<TempDir, "path" | "file">> {
  const path = await mkdtemp(join(process.env[KEPT] ?? tmpdir(), "made-once-"));
  return { path, file: (name) => join(path, name) };
}

/** A temporary folder. */
export type TempDir = AsyncDisposable & { path: string; file(name: string): string };

/** Opens a folder for one test, which is removed afterwards. */
export async function openTempDir(): Promise<TempDir> {
  const path = await mkdtemp(join(tmpdir(), "docs-agent-test-"));
  return {
    path,
    file: (name) => join(path, name),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}
