import fc from "fast-check";
import { type ModelSubject, type Operation, type RunPlan, TaskQueueModel } from "./task-queue-model.ts";

/** A command of the model test. A run executes a list of them. */
export type Command =
  | { do: "ask"; operations: Operation[]; next: "answer" | "go on" | "crash" | "crash a turn later" }
  | { do: "advance"; ms: number }
  | { do: "set the clock"; byMs: number }
  | { do: "turn" | "idle" | "crash" | "stop" };

const MINUTE_MS = 60_000;

const runPlan: fc.Arbitrary<RunPlan> = fc.record({
  ends: fc.constantFrom("done", "done", "dead", "retry", "again", "wait", "throw", "decision throws"),
  turns: fc.nat(6),
  delayMs: fc.constantFrom(0, 0, 1_000, 5_000),
  decides: fc.boolean(),
});

const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("add" as const),
      onDuplicate: fc.constantFrom("once", "pending", "latest", "latest"),
      shared: fc.nat(1),
      dueInMs: fc.constantFrom(0, 0, 3_000),
      runs: fc.array(runPlan, { maxLength: 2 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("commit" as const), adds: fc.nat(2), throws: fc.boolean() }),
  },
);

/** Draws a command. */
export const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant("ask" as const),
      operations: fc.array(operation, { minLength: 1, maxLength: 3 }),
      next: fc.constantFrom("answer", "answer", "go on", "go on", "go on", "crash", "crash a turn later"),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("advance" as const), ms: fc.nat(90_000) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("set the clock" as const),
      byMs: fc.constantFrom(-60 * MINUTE_MS, 60 * MINUTE_MS, -20 * MINUTE_MS, 1_000),
    }),
  },
  { weight: 14, arbitrary: fc.constant({ do: "turn" as const }) },
  { weight: 3, arbitrary: fc.constant({ do: "idle" as const }) },
  { weight: 2, arbitrary: fc.constantFrom({ do: "crash" as const }, { do: "stop" as const }) },
);

async function crash(subject: ModelSubject, model: TaskQueueModel): Promise<void> {
  model.die();
  await subject.reopen();
  await model.start(subject);
}

async function obey(subject: ModelSubject, model: TaskQueueModel, next: Command): Promise<void> {
  switch (next.do) {
    case "ask": {
      const { operations, next: after } = next;
      const answers = Promise.all(operations.map((one) => model.ask(subject, one)));
      if (after === "answer") await answers;
      if (after === "crash a turn later") await subject.turn();
      if (after === "crash" || after === "crash a turn later") await crash(subject, model);
      return;
    }
    case "advance":
      subject.advance(next.ms);
      return;
    case "set the clock":
      model.clockWasSet();
      subject.setClock(next.byMs);
      return;
    case "turn":
      await subject.turn();
      return;
    case "idle":
      await subject.idle();
      model.isIdle(subject.now());
      return;
    case "crash":
      await crash(subject, model);
      return;
    case "stop":
      model.die();
      await subject.queue.stop(0);
      await subject.reopen();
      await model.start(subject);
      return;
  }
}

/** Executes the commands on a queue, and then everything that is left. Resolves to the faults. */
export async function faultsAfter(subject: ModelSubject, commands: readonly Command[]): Promise<string[]> {
  const model = new TaskQueueModel();
  await model.start(subject);
  for (const next of commands) await obey(subject, model, next);
  for (;;) {
    await subject.idle();
    model.isIdle(subject.now());
    const dueAt = await subject.nextDueAt();
    if (dueAt === null) return model.verify(subject);
    model.isIdleUntil(dueAt, subject.now());
    subject.advance(dueAt - subject.now());
  }
}
