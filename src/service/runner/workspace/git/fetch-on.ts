import type { Clock, Logger } from "../../../../shared/machine/ports.ts";
import { pause } from "../../../base/pause.ts";
import { operatorText, TransientRunError } from "../../../base/run-error.ts";
import { type FetchWatch, watchFetch } from "./fetch-watch.ts";
import { GitError, RefConflictError } from "./git-fault.ts";
import { removeHalfPacks } from "./mirror-files.ts";

/** How often in a row a fetch may break off without getting further than before. */
const MAX_BROKEN = 5;
const TRY_AGAIN_MS = { first: 5000, max: 60_000 };

type FetchInput = {
  gitDir: string;
  /** Called with how far it is, in words for people. */
  tell: (far: string) => void;
  clock: Clock;
  logger: Logger;
  signal: AbortSignal;
};

/**
 * Fetches until it succeeds. A fetch that breaks off after it has received something begins anew,
 * after a pause, as long as it now and then gets further than before: a turn that ran again would
 * begin there, too. Otherwise rejects as `fetch` does.
 */
export async function fetchOn(
  fetch: (watch: FetchWatch) => Promise<unknown>,
  { gitDir, tell, clock, logger, signal }: FetchInput,
): Promise<void> {
  let most = 0;
  let waitMs = TRY_AGAIN_MS.first;
  for (let broken = 1; ; broken += 1) {
    using watch = watchFetch({ clock, gitDir, tell });
    try {
      await fetch(watch);
      return;
    } catch (error) {
      if (watch.received() > most) {
        most = watch.received();
        broken = 1;
        waitMs = TRY_AGAIN_MS.first;
      }
      if (!mayBeCutOff(error) || most === 0 || broken > MAX_BROKEN) throw error;
      logger.warn({ problem: operatorText(error) }, "a fetch broke off and begins anew");
      tell("the connection broke, trying again");
    }
    await removeHalfPacks(gitDir);
    await pause(clock, waitMs, signal);
    waitMs = Math.min(waitMs * 2, TRY_AGAIN_MS.max);
  }
}

/** True if a fetch may have failed because its connection did. */
function mayBeCutOff(error: unknown): boolean {
  const isOurs = error instanceof GitError || error instanceof RefConflictError;
  return error instanceof TransientRunError && !isOurs;
}
