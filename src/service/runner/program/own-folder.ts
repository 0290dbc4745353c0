import { accessSync, constants, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { codeOf, messageOf, StartError } from "../../../shared/errors.ts";
import type { Clock } from "../../../shared/machine/ports.ts";
import { ownFile } from "../../../shared/store/sqlite/file-owner.ts";
import { StoreInUseError } from "../../../shared/store/store-errors.ts";
import { stateFileOf } from "../../jobs/state-file.ts";

/** A runner that stops may still have its folder when the next one starts. */
const OWNER_WAIT_MS = 10_000;

/** Another process has the folder. */
export class FolderInUseError extends StartError {}

/**
 * Makes this process the only owner of a runner's folder until it is disposed of. Rejects with a
 * {@link StartError} if another one is, or the folder can't be used.
 */
export async function ownRunnerFolder(
  dataDir: string,
  clock: Clock,
  waitMs = OWNER_WAIT_MS,
): Promise<Disposable> {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (thrown) {
    const code = codeOf(thrown) ?? messageOf(thrown);
    throw new StartError(
      `Can't use ${dataDir} (${code}). Give it to the user that the runner runs as, or change ` +
        "RUNNER_DATA_DIR.",
      { cause: thrown },
    );
  }
  if (existsSync(stateFileOf({ dataDir }))) {
    throw new StartError(
      `${dataDir} is a job service's folder. Set RUNNER_DATA_DIR to a folder of the runner's own.`,
    );
  }
  try {
    const owner = await ownFile(join(dataDir, "runner"), clock, waitMs);
    return { [Symbol.dispose]: () => owner.close() };
  } catch (thrown) {
    if (!(thrown instanceof StoreInUseError)) throw thrown;
    throw new FolderInUseError(`Another runner is using ${dataDir}. Stop it, or change RUNNER_DATA_DIR.`, {
      cause: thrown,
    });
  }
}
