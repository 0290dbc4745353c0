import type { Clock } from "../../../../shared/machine/ports.ts";
import { pause } from "../../../base/pause.ts";
import { TransientRunError } from "../../../base/run-error.ts";
import { RefusedByCodeHostError } from "../../../pulls/code-host/github-fault.ts";
import type { PullRequestHost } from "../../../pulls/code-host/github-code-host.ts";
import { saysUnseenBranch } from "../../../pulls/code-host/refusals.ts";
import type { TurnNote } from "../../publish/turn-note.ts";

/**
 * Servers of a large host take a moment to tell each other of a push. Until then, they answer as if
 * the branch weren't there.
 */
const SEEN_WITHIN_MS = 60_000;
const PAUSE_MS = { first: 1000, max: 15_000 };

/** How long, in milliseconds, a turn's push may still be too new to be seen. 0 if it isn't. */
function unseenForMs(note: TurnNote | null, clock: Clock): number {
  if (note?.isPushed !== true || note.pushedAt === null) return 0;
  // A clock that was set back must not lengthen the wait.
  return Math.max(0, Math.min(note.pushedAt, clock.now()) + SEEN_WITHIN_MS - clock.now());
}

/**
 * Throws a `TransientRunError` if the git server may just not show yet what the turn has pushed. To
 * run an agent again would then do its work twice.
 */
export function assertSeen(note: TurnNote | null, clock: Clock): void {
  if (unseenForMs(note, clock) > 0) {
    throw new TransientRunError("The git server doesn't show the branch yet.");
  }
}

/**
 * The code host as a turn uses it after its push. A refusal that means that it doesn't see the
 * branch yet, or what was made of it a moment ago, had no effect, so the request is sent again for
 * a minute from the push. Then the refusal stands.
 */
export function hostAfterPush(
  host: PullRequestHost,
  note: TurnNote | null,
  { clock, signal, onProgress }: { clock: Clock; signal: AbortSignal; onProgress: (line: string) => void },
): PullRequestHost {
  const untilMs = clock.now() + unseenForMs(note, clock);

  async function isUnseen(error: unknown): Promise<boolean> {
    if (!(error instanceof RefusedByCodeHostError)) return false;
    if (error.status === 422) return saysUnseenBranch(error.said);
    // It may also mean that the repository isn't there, or can't be seen.
    return error.status === 404 && (await host.isPublic(signal)) !== null;
  }

  function patient<Args extends unknown[], Result>(ask: (...args: Args) => Promise<Result>) {
    return async (...args: Args): Promise<Result> => {
      for (let pauseMs = PAUSE_MS.first; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MS.max)) {
        try {
          return await ask(...args);
        } catch (error) {
          const leftMs = untilMs - clock.now();
          if (leftMs <= 0 || !(await isUnseen(error))) throw error;
          onProgress("waiting for the code host to see the branch");
          await pause(clock, Math.min(pauseMs, leftMs), signal);
        }
      }
    };
  }

  return {
    ...host,
    find: patient((...args: Parameters<PullRequestHost["find"]>) => host.find(...args)),
    create: patient((...args: Parameters<PullRequestHost["create"]>) => host.create(...args)),
    change: patient((...args: Parameters<PullRequestHost["change"]>) => host.change(...args)),
    decorate: patient((...args: Parameters<PullRequestHost["decorate"]>) => host.decorate(...args)),
  };
}
