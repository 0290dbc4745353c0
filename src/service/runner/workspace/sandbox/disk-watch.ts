import { statfs } from "node:fs/promises";
import type { Clock } from "../../../../shared/machine/ports.ts";
import { TransientRunError, TurnFailedError } from "../../../base/run-error.ts";
import { runProgram } from "../process-group.ts";

const LOOK_EVERY_MS = 5_000;
/** How often the free disk space is checked, which takes no time. */
const ASK_EVERY_MS = 500;
/** With less room, the service and its other turns are at risk. */
const RESERVE_MEGABYTES = 128;
/** An agent that wrote less isn't the reason why the disk is full. */
const NOTEWORTHY_MEGABYTES = 16;
const MEGABYTE = 1024 ** 2;
const LOOK_TIME_LIMIT_MS = 30_000;
/** In a row. The machine may be short of processes or files for a moment. */
const MAX_BLIND_LOOKS = 6;
/** An agent could cause any number of complaints of `du`, so they are dropped. */
const DU = 'exec du -sxk -- "$1" 2>/dev/null';
/** It prints a number and the folder's path. */
const MAX_WRITTEN_BYTES = 64 * 1024;

/**
 * Watches what is added to a folder. `signal` aborts with a `TurnFailedError` if that is more than
 * allowed or is the reason why the disk is almost full, and with a `TransientRunError` if it can't
 * be measured for half a minute.
 */
export function watchDisk(
  folder: string,
  limitMegabytes: number,
  { clock, reserveMegabytes = RESERVE_MEGABYTES }: { clock: Clock; reserveMegabytes?: number },
): Disposable & { signal: AbortSignal } {
  const controller = new AbortController();
  const { signal } = controller;
  const over = new AbortController();
  let cancel: () => void = () => {};
  let blindLooks = 0;
  let lookAtMs = clock.now() + LOOK_EVERY_MS;

  let before = diskUse(folder, over.signal);
  async function look(): Promise<void> {
    const isShort = (await roomOn(folder)) < reserveMegabytes * MEGABYTE;
    if (over.signal.aborted) return;
    if (isShort || clock.now() >= lookAtMs) {
      lookAtMs = clock.now() + LOOK_EVERY_MS;
      const { bytes } = await diskUse(folder, over.signal);
      const { bytes: bytesBefore } = await before;
      if (over.signal.aborted) return;
      blindLooks = bytes === null ? blindLooks + 1 : 0;
      if (bytesBefore === null) before = Promise.resolve({ bytes, isWhole: true });
      const added = bytes === null || bytesBefore === null ? 0 : bytes - bytesBefore;
      const reason = reasonToStop(added / MEGABYTE, isShort);
      if (reason !== null) return controller.abort(reason);
    }
    wait();
  }
  function reasonToStop(addedMegabytes: number, isShort: boolean): Error | null {
    if (addedMegabytes > limitMegabytes) {
      return new TurnFailedError(
        `The agent wrote more than its limit of ${limitMegabytes} MB, and was stopped.`,
      );
    }
    if (isShort && addedMegabytes > NOTEWORTHY_MEGABYTES) {
      return new TurnFailedError(
        "The agent wrote until the service's disk was almost full, and was stopped.",
      );
    }
    if (blindLooks < MAX_BLIND_LOOKS) return null;
    return new TransientRunError("What the agent writes to the disk can't be measured.");
  }
  function wait(): void {
    cancel = clock.wakeAt(clock.now() + ASK_EVERY_MS, () => void look());
  }
  wait();
  return {
    signal,
    [Symbol.dispose]: () => {
      over.abort();
      cancel();
    },
  };
}

/**
 * The disk space that a folder takes, in bytes. Infinite if there are too many files to count in
 * time, and null if it can't be measured. `isWhole` is true if everything was counted. Files that
 * disappear meanwhile, or that nobody may read, can't be. Never rejects.
 */
export async function diskUse(
  folder: string,
  signal = new AbortController().signal,
): Promise<{ bytes: number | null; isWhole: boolean }> {
  const program = {
    command: "/bin/sh",
    args: ["-c", DU, "sh", folder],
    cwd: "/",
    env: { PATH: "/usr/bin:/bin", LC_ALL: "C" },
    stdin: "",
    timeLimitMs: LOOK_TIME_LIMIT_MS,
    maxOutputBytes: MAX_WRITTEN_BYTES,
  };
  const { ending, stdout } = await runProgram(program, signal);
  if (ending.kind === "time-limit") return { bytes: Infinity, isWhole: false };
  const kilobytes = Number.parseInt(stdout.toString(), 10);
  const isWhole = ending.kind === "exited" && ending.code === 0;
  return { bytes: Number.isNaN(kilobytes) ? null : kilobytes * 1024, isWhole };
}

/** The free space on a folder's disk, in bytes. Infinite if that isn't known. */
async function roomOn(folder: string): Promise<number> {
  const disk = await statfs(folder).catch(() => null);
  return disk === null ? Infinity : disk.bavail * disk.bsize;
}
