import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { AppProcess } from "../support/app-process.ts";
import { sampled } from "../support/sampled.ts";
import { startServiceWorld } from "../support/service-world.ts";

/** Where the service dies: before its n-th commit, or around the n-th request that it, git or the agent sends. */
type Boundary = { at: "commit" | "request"; phase: "before" | "after"; number: number; what: string };

/** The job has ended, and what else the service commits has been committed. */
const IDLE_MS = 5_000;
let missed = 0;

/** One job, from create to its end, with the service killed at one boundary (null: at none) and started again. */
async function runWithDeath(boundary: Boundary | null, onStep: (step: Boundary) => void = () => {}) {
  await using resources = new AsyncDisposableStack();
  let running: AppProcess | null = null;
  let requests = 0;
  const world = resources.use(
    await startServiceWorld(async (phase, what) => {
      if (phase === "before") requests += 1;
      onStep({ at: "request", phase, number: requests, what });
      if (boundary?.at !== "request" || boundary.phase !== phase || boundary.number !== requests)
        return false;
      await running?.kill();
      return true;
    }),
  );
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
      missed += 1;
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
  const job = await world.read(url ?? "", jobId ?? "");
  return { status: job?.status, prLink: job?.prLink, ...(await world.atCodeHost(jobId ?? "")) };
}

const boundaries: Boundary[] = [];
const undisturbed = await runWithDeath(null, (step) => boundaries.push(step));
const tried = sampled(boundaries);

it("makes one branch and one pull request when nothing happens", () => {
  expect(undisturbed).toMatchObject({ status: "completed", pulls: 1, commits: 1 });
  expect(undisturbed.branches).toEqual(["docs-agent/<id>", "main"]);
  const whats = new Set(boundaries.map(({ what }) => what));
  expect(whats).toContain("POST /agent-runs");
  expect(whats).toContain("POST /acme/docs.git/git-receive-pack");
  expect(whats).toContain("POST /api/v3/repos/acme/docs/pulls");
});

it.concurrent.each(tried)(
  "killed $phase $at $number ($what): one branch, one pull request, the right status",
  { timeout: 120_000 },
  async (boundary) => {
    const ending = await runWithDeath(boundary);
    expect(ending).toMatchObject({ status: "completed", pulls: 1, commits: 1 });
    expect(ending.branches).toEqual(["docs-agent/<id>", "main"]);
    expect(ending.prLink).toMatch(/\/acme\/docs\/pull\/1$/);
  },
);

it("comes to most of these steps again", () => {
  expect(missed).toBeLessThanOrEqual(Math.ceil(tried.length / 2));
});
