import type { Clock } from "../../../core/clock.ts";
import { TransientRunError, TurnFailedError } from "../run-error.ts";
import type { ProcessStarter } from "../starter/process-starter.ts";

const LOOK_EVERY_MS = 5_000;
const LOOK_TIME_LIMIT_MS = 30_000;
/** In a row. The machine may be short of processes or files for a moment. */
const MAX_BLIND_LOOKS = 6;
/** What `du` complains of is the agent's to make as long as it likes. */
const DU = 'exec du -sxk -- "$1" 2>/dev/null';
/** It writes a number and the folder's path. */
const MAX_WRITTEN_BYTES = 64 * 1024;

/**
 * Watches what is added to a folder. `signal` aborts with a `TurnFailedError` when that is more than it may be, and with a
 * `TransientRunError` when it can't be told for half a minute.
 */
export function watchDisk(
  folder: string,
  limitMegabytes: number,
  { clock, starter }: { clock: Clock; starter: ProcessStarter },
): Disposable & { signal: AbortSignal } {
  const controller = new AbortController();
  const { signal } = controller;
  const over = new AbortController();
  let cancel: () => void = () => {};
  let blindLooks = 0;

  let before = diskUse(folder, starter, over.signal);
  async function look(): Promise<void> {
    const { bytes } = await diskUse(folder, starter, over.signal);
    const { bytes: bytesBefore } = await before;
    if (over.signal.aborted) return;
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
      over.abort();
      cancel();
    },
  };
}

/**
 * What a folder takes on the disk: bytes, infinite where there are more files than can be counted in time, null if it can't be told. `isWhole`: all of
 * it was counted; what goes away meanwhile, and what nobody may read, can't be. Never rejects.
 */
export async function diskUse(
  folder: string,
  starter: ProcessStarter,
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
  try {
    const { ending, stdout } = await starter.run(program, signal);
    if (ending.kind === "time-limit") return { bytes: Infinity, isWhole: false };
    const bytes = bytesOf(Buffer.from(stdout).toString());
    return { bytes, isWhole: ending.kind === "exited" && ending.code === 0 };
  } catch {
    return { bytes: null, isWhole: false };
  }
}

function bytesOf(written: string): number | null {
  const kilobytes = Number.parseInt(written, 10);
  return Number.isNaN(kilobytes) ? null : kilobytes * 1024;
}
