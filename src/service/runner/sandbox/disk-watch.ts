import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { z } from "zod";
import type { Clock } from "../../../core/clock.ts";
import { TransientRunError, TurnFailedError } from "../run-error.ts";

const LOOK_EVERY_MS = 5_000;
const LOOK_TIME_LIMIT_MS = 30_000;
/** In a row. The machine may be short of processes or files for a moment. */
const MAX_BLIND_LOOKS = 6;
/** What `du` complains of is the agent's to make as long as it likes. */
const DU = 'exec du -sxk -- "$1" 2>/dev/null';
const Incomplete = z.object({ stdout: z.string(), killed: z.boolean() });
const run = promisify(execFile);

/**
 * Watches what is added to a folder. `signal` aborts with a `TurnFailedError` when that is more than it may be, and with a
 * `TransientRunError` when it can't be told for half a minute.
 */
export function watchDisk(
  folder: string,
  limitMegabytes: number,
  clock: Clock,
): Disposable & { signal: AbortSignal } {
  const controller = new AbortController();
  const { signal } = controller;
  let isOver = false;
  let cancel: () => void = () => {};
  let blindLooks = 0;

  let before = diskUse(folder);
  async function look(): Promise<void> {
    const { bytes } = await diskUse(folder);
    const { bytes: bytesBefore } = await before;
    if (isOver) return;
    blindLooks = bytes === null ? blindLooks + 1 : 0;
    if (bytesBefore === null) before = Promise.resolve({ bytes, isWhole: true });
    else if (bytes !== null && bytes - bytesBefore > limitMegabytes * 1024 ** 2) {
      controller.abort(
        new TurnFailedError(`The agent wrote more than its limit of ${limitMegabytes} MB, and was stopped.`),
      );
      return;
    }
    if (blindLooks < MAX_BLIND_LOOKS) wait();
    else controller.abort(new TransientRunError("What the agent writes to the disk can't be measured."));
  }
  function wait(): void {
    cancel = clock.wakeAt(clock.now() + LOOK_EVERY_MS, () => void look());
  }
  wait();
  return {
    signal,
    [Symbol.dispose]: () => {
      isOver = true;
      cancel();
    },
  };
}

/**
 * What a folder takes on the disk: bytes, infinite where there are more files than can be counted in time, null if it can't be told. `isWhole`: all of
 * it was counted; what goes away meanwhile, and what nobody may read, can't be. Never rejects.
 */
export async function diskUse(folder: string): Promise<{ bytes: number | null; isWhole: boolean }> {
  const options = { timeout: LOOK_TIME_LIMIT_MS, env: { PATH: "/usr/bin:/bin", LC_ALL: "C" } };
  try {
    const { stdout } = await run("/bin/sh", ["-c", DU, "sh", folder], options);
    return { bytes: bytesOf(stdout), isWhole: true };
  } catch (thrown) {
    const { stdout, killed } = Incomplete.safeParse(thrown).data ?? { stdout: "", killed: false };
    return { bytes: killed ? Infinity : bytesOf(stdout), isWhole: false };
  }
}

function bytesOf(written: string): number | null {
  const kilobytes = Number.parseInt(written, 10);
  return Number.isNaN(kilobytes) ? null : kilobytes * 1024;
}
