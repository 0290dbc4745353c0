import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Clock } from "../../../core/clock.ts";
import { TurnFailedError } from "../run-error.ts";

const LOOK_EVERY_MS = 5_000;
const LOOK_TIME_LIMIT_MS = 30_000;
const run = promisify(execFile);

/** Watches what is added to a folder. `signal` aborts with a `TurnFailedError` when that is more than it may be. */
export function watchDisk(
  folder: string,
  limitMegabytes: number,
  clock: Clock,
): Disposable & { signal: AbortSignal } {
  const controller = new AbortController();
  const { signal } = controller;
  let isOver = false;
  let cancel: () => void = () => {};

  const before = diskUse(folder);
  async function look(): Promise<void> {
    const added = (await diskUse(folder)).bytes - (await before).bytes;
    if (isOver) return;
    if (added > limitMegabytes * 1024 ** 2) {
      controller.abort(
        new TurnFailedError(`The agent wrote more than its limit of ${limitMegabytes} MB, and was stopped.`),
      );
    } else {
      wait();
    }
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
 * What a folder takes on the disk. `isWhole`: all of it could be counted. What goes away meanwhile, and what nobody may read, can't be; more
 * files than can be counted in time are too many.
 */
export async function diskUse(folder: string): Promise<{ bytes: number; isWhole: boolean }> {
  const options = { timeout: LOOK_TIME_LIMIT_MS, env: { PATH: "/usr/bin:/bin", LC_ALL: "C" } };
  try {
    const { stdout } = await run("du", ["-sxk", "--", folder], options);
    return { bytes: Number.parseInt(stdout, 10) * 1024, isWhole: true };
  } catch (thrown) {
    if (typeof thrown === "object" && thrown !== null && "stdout" in thrown && "killed" in thrown) {
      const counted = Number.parseInt(String(thrown.stdout), 10) * 1024 || 0;
      return { bytes: thrown.killed === true ? Infinity : counted, isWhole: false };
    }
    throw thrown;
  }
}
