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
    const added = (await diskUse(folder)) - (await before);
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

/** Bytes. More files than can be counted in time are too many. */
async function diskUse(folder: string): Promise<number> {
  const options = { timeout: LOOK_TIME_LIMIT_MS, env: { PATH: "/usr/bin:/bin", LC_ALL: "C" } };
  try {
    const { stdout } = await run("du", ["-sxk", "--", folder], options);
    return Number.parseInt(stdout, 10) * 1024;
  } catch (thrown) {
    // Files that go away meanwhile, or that nobody may read: what could be counted counts.
    if (typeof thrown === "object" && thrown !== null && "stdout" in thrown && "killed" in thrown) {
      return thrown.killed === true ? Infinity : Number.parseInt(String(thrown.stdout), 10) * 1024 || 0;
    }
    throw thrown;
  }
}
