import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { AppProcess } from "./app-process.ts";
import { startServiceWorld } from "./service-world.ts";

/** Where the service dies: before its n-th commit, or around the n-th request that it, git, the agent or a check sends. */
export type Boundary = {
  at: "commit" | "request";
  phase: "before" | "after";
  number: number;
  what: string;
};

/** The job has ended, and what else the service commits has been committed. */
const IDLE_MS = 5_000;

/** What is around the service, as `startServiceWorld` takes it. */
type Around = { agent?: { kind: string; command: string[] }; isChecked?: boolean };

/**
 * One job, from create to its end. The service is killed at one boundary, unless that is null, and
 * started again. `isMissed` is true if the run didn't reach it.
 */
export async function runWithDeath(
  boundary: Boundary | null,
  { agent, isChecked }: Around = {},
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
  const world = resources.use(await startServiceWorld(hook, agent, isChecked));
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
    // A step that this run doesn't come to: how often a turn's progress is written depends on how busy the machine is.
    if ((await Promise.race([first.exit(), sleep(IDLE_MS)])) === undefined) {
      isMissed = true;
      await first.kill();
    }
    expect(await first.exit()).toBe("SIGKILL");
    const second = resources.use(new AppProcess({ env, program }));
    running = second;
    url = (await second.ready()) ?? "";
    // Where no answer came, the client asks again, with the same idempotency key.
    jobId ??= (await world.create(url)) ?? "";
    await world.ended(url, jobId, second);
  }
  const report = await world.report(url ?? "", jobId ?? "");
  return { ...report, isMissed, ...(await world.atCodeHost(jobId ?? "")) };
}
