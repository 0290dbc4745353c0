import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { AppProcess } from "./app-process.ts";
import { type Around, startServiceWorld } from "./service-world.ts";

/**
 * The place where the service dies: before its n-th commit, or around the n-th request of the
 * service, git, the agent or a check.
 */
export type Boundary = {
  at: "commit" | "request";
  phase: "before" | "after";
  number: number;
  what: string;
};

/**
 * Long enough that the job has ended, and everything that the service still commits has been
 * committed.
 */
const IDLE_MS = 5_000;

/**
 * Runs one job from its creation to its end. The service is killed at the boundary, unless it is
 * null, and started again. `isMissed` is true if the run didn't reach the boundary.
 */
export async function runWithDeath(
  boundary: Boundary | null,
  around: Around = {},
  onStep: (step: Boundary) => void = () => {},
) {
  await using resources = new AsyncDisposableStack();
  let running: AppProcess | null = null;
  let requests = 0;
  let isMissed = false;
  const hook = async (phase: "before" | "after", what: string): Promise<boolean> => {
    if (phase === "before") requests += 1;
    onStep({ at: "request", phase, number: requests, what });
    if (boundary?.at !== "request" || boundary.phase !== phase || boundary.number !== requests) return false;
    await running?.kill();
    return true;
  };
  const world = resources.use(await startServiceWorld(hook, around));
  const { env, program } = world;
  const first = resources.use(
    new AppProcess({
      env,
      program,
      onCommit: ({ commit, isEmpty, sql }) => {
        if (!isEmpty) onStep({ at: "commit", phase: "before", number: commit, what: sql });
      },
      ...(boundary?.at === "commit" ? { killAtCommit: `${boundary.phase}:${boundary.number}` } : {}),
    }),
  );
  running = first;
  let url = await first.ready();
  let jobId = url === null ? null : await world.create(url);
  if (url !== null && jobId !== null) await world.ended(url, jobId, first);
  if (boundary !== null) {
    // The run doesn't reach this step. The number of times a turn's progress is written depends on
    // how busy the machine is.
    if ((await Promise.race([first.exit(), sleep(IDLE_MS)])) === undefined) {
      isMissed = true;
      await first.kill();
    }
    expect(await first.exit()).toBe("SIGKILL");
    const second = resources.use(new AppProcess({ env, program }));
    running = second;
    url = (await second.ready()) ?? "";
    // Without an answer, the client asks again with the same idempotency key.
    jobId ??= (await world.create(url)) ?? "";
    await world.ended(url, jobId, second);
  }
  const report = await world.report(url ?? "", jobId ?? "");
  return { ...report, isMissed, ...(await world.atCodeHost(jobId ?? "")) };
}
