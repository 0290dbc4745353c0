import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TaskHandler, TaskResult } from "../../src/core/task-queue.ts";
import {
  type SqliteTaskQueueSubject,
  openFileSubject,
  openMemorySubject,
} from "../support/sqlite-task-queue.ts";

type RunPlan = { ends: "done" | "dead" | "retry" | "again" | "throw"; turns: number; delayMs: number };
type Command =
  | { do: "add"; lane: "a" | "b" | undefined; dueInMs: number; runs: RunPlan[] }
  | { do: "advance"; ms: number }
  | { do: "turn" }
  | { do: "idle" }
  | { do: "crash" }
  | { do: "stop" };

const runPlan: fc.Arbitrary<RunPlan> = fc.record({
  ends: fc.constantFrom("done", "done", "dead", "retry", "again", "throw"),
  turns: fc.nat(3),
  delayMs: fc.nat(5_000),
});

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("add" as const),
      lane: fc.constantFrom("a" as const, "b" as const, undefined),
      dueInMs: fc.constantFrom(0, 0, 3_000),
      runs: fc.array(runPlan, { maxLength: 4 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("advance" as const), ms: fc.nat(90_000) }) },
  { weight: 4, arbitrary: fc.constant({ do: "turn" as const }) },
  { weight: 2, arbitrary: fc.constant({ do: "idle" as const }) },
  { weight: 1, arbitrary: fc.constant({ do: "crash" as const }) },
  { weight: 1, arbitrary: fc.constant({ do: "stop" as const }) },
);

/** What must hold, noted down by the handlers of the process that is alive. */
class Model {
  readonly added: Array<{ id: string; lane: string | undefined; runs: RunPlan[] }> = [];
  readonly ended: string[] = [];
  readonly faults: string[] = [];
  #process = 0;
  #running: Array<{ id: string; lane: string | null }> = [];
  readonly #runCounts = new Map<string, number>();

  #tookOver = Promise.withResolvers<void>();

  /** Has a new process run tasks. What handlers of earlier ones return from now on must count for nothing. */
  async start(subject: SqliteTaskQueueSubject): Promise<void> {
    subject.queue.start(this.#handler(subject));
    // The queue's first pass, which takes over what the old process left, is at the front of this turn.
    await turn();
    this.#tookOver.resolve();
    this.#tookOver = Promise.withResolvers();
  }

  #handler(subject: SqliteTaskQueueSubject): TaskHandler {
    const process = this.#process;
    return async ({ id, lane }) => {
      const run = { id, lane };
      if (this.#running.some((other) => other.id === id)) this.faults.push(`${id} runs twice at once`);
      if (lane !== null && this.#running.some((other) => other.lane === lane)) {
        this.faults.push(`two of lane ${lane} run at once`);
      }
      if (this.ended.includes(id)) this.faults.push(`${id} runs after its end`);
      this.#running.push(run);
      const count = this.#runCounts.get(id) ?? 0;
      this.#runCounts.set(id, count + 1);
      const plan = this.added.find((task) => task.id === id)?.runs[count];
      for (let n = 0; n < (plan?.turns ?? 0); n += 1) await turn();
      if (process !== this.#process) {
        await this.#tookOver.promise;
        return { kind: "dead", reason: "from a process that is gone" };
      }
      this.#running = this.#running.filter((other) => other !== run);
      const ends = plan?.ends ?? "done";
      if (ends === "done" || ends === "dead") this.ended.push(id);
      return end(ends, subject.now() + (plan?.delayMs ?? 0));
    };
  }

  die(): void {
    this.#process += 1;
    this.#running = [];
  }
}

function end(ends: RunPlan["ends"], dueAt: number): TaskResult {
  switch (ends) {
    case "done":
      return { kind: "done", laneGapMs: dueAt % 1_000 };
    case "dead":
      return { kind: "dead", reason: "planned" };
    case "retry":
      return { kind: "retry", dueAt, reason: "planned" };
    case "again":
      return { kind: "again", dueAt };
    case "throw":
      throw new Error("planned");
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function obey(subject: SqliteTaskQueueSubject, model: Model, next: Command): Promise<void> {
  switch (next.do) {
    case "add": {
      const id = `t${model.added.length}`;
      const { lane, runs } = next;
      model.added.push({ id, lane, runs });
      const added = await subject.queue.add({
        id,
        type: "test",
        payload: null,
        dueAt: subject.now() + next.dueInMs,
        ...(lane && { lane }),
      });
      if (!added) model.faults.push(`${id} was known before it was added`);
      return;
    }
    case "advance":
      subject.advance(next.ms);
      return;
    case "turn":
      await turn();
      return;
    case "idle":
      await subject.idle();
      return;
    case "crash":
      model.die();
      await subject.reopen();
      await model.start(subject);
      return;
    case "stop":
      model.die();
      await subject.queue.stop(0);
      await subject.reopen();
      await model.start(subject);
      return;
  }
}

async function runAll(subject: SqliteTaskQueueSubject): Promise<void> {
  for (;;) {
    await subject.idle();
    const dueAt = subject.queue.nextDueAt();
    if (dueAt === null) return;
    subject.clock.advanceTo(dueAt);
  }
}

describe.each([
  ["file", openFileSubject, 40],
  ["in memory", openMemorySubject, 300],
] as const)("SQLite task queue, %s, whatever happens", (_, open, numRuns) => {
  it("ends every task once, in the order of its lane, and never two of a lane at once", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 40 }), async (commands) => {
        await using subject = await open();
        const model = new Model();
        await model.start(subject);
        for (const next of commands) await obey(subject, model, next);
        await runAll(subject);

        expect(model.faults).toEqual([]);
        expect(model.ended.toSorted()).toEqual(model.added.map(({ id }) => id).toSorted());
        for (const lane of ["a", "b"]) {
          const inLane = model.added.filter((task) => task.lane === lane).map(({ id }) => id);
          expect(model.ended.filter((id) => inLane.includes(id))).toEqual(inLane);
        }
        expect(await subject.queue.counts()).toMatchObject({ waiting: 0, running: 0 });
      }),
      { numRuns },
    );
  });
});
