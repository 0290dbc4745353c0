// @module-tag all
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { freezeTree } from "../../support/process-tree.ts";
import { openFaultsWorld } from "../../support/runner-faults.ts";

const TIMEOUT_MS = 300_000;
/** Longer than a lease, and than the successor needs to ask people. */
const PAUSED_MS = 75_000;

const isPush = (request: string) => request.startsWith("POST ") && request.includes("git-receive-pack");

describe.concurrent("a runner that was paused in the middle of a push wakes beside its successor", () => {
  it.for([
    { name: "before the code host has the push, while the successor works", held: "before", answers: false },
    {
      name: "before the code host has the push, when the successor has pushed",
      held: "before",
      answers: true,
    },
    { name: "after the push, before the runner hears of it", held: "after", answers: true },
  ] as const)("$name", { timeout: TIMEOUT_MS }, async ({ held, answers }) => {
    await using world = await openFaultsWorld();
    const { codeHost } = world;
    const runner = world.start(world.first);
    await runner.wrote(/the runner asks the job service for work/);
    const arrives = Promise.withResolvers<void>();
    const goesOn = Promise.withResolvers<void>();
    let pushes = 0;
    codeHost.traffic.before = async (request) => {
      if (!isPush(request)) return;
      pushes += 1;
      if (pushes > 1) return;
      arrives.resolve();
      if (held === "before") await goesOn.promise;
    };
    const id = await world.create();
    let isAwake = false;
    const ended = world.ended(id, () => pushes === 0 || answers || isAwake);
    await arrives.promise;
    if (held === "after") while (world.pushes().length === 0) await sleep(5);
    const wake = freezeTree(runner.pid);
    world.start(world.second);
    await sleep(PAUSED_MS);
    if (answers) await ended;
    // What the paused one sent arrives now: it lost its work long ago.
    isAwake = true;
    goesOn.resolve();
    wake();
    const { status } = await ended;
    const next = await world.ended(await world.create());
    const { late: _, outcomes, ...left } = await world.left(id);
    expect({ status, ...left, next: next.status }).toEqual({
      status: "completed",
      branches: 1,
      pulls: 1,
      agents: [],
      next: "completed",
    });
    expect(outcomes).toBe(1);
    // Whichever push came first stands, and no other has moved the branch.
    expect(world.pushes().filter((push) => push.includes(id))).toHaveLength(1);
  });
});
