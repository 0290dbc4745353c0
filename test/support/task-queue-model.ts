import { newDelivery } from "../../src/app/rules/turn/delivery.ts";
import type { Read, Step, TaskHandler, Write } from "../../src/app/rules/records.ts";
import type { NewTask, Task, TaskEnd } from "../../src/shared/queue/task-queue.ts";
import type { TaskQueueSubject } from "../contracts/task-queue.ts";

/** A queue under test, with everything that its model needs. */
export type ModelSubject = TaskQueueSubject & {
  /**
   * Resolves to the time when something is due next, in epoch milliseconds, or to null if nothing
   * waits.
   */
  nextDueAt(): Promise<number | null>;
  /** Gives the queue a moment for a small step. */
  turn(): Promise<void>;
};

/**
 * The course of one run of a task. With `decides`, its end is a decision that also writes and adds.
 */
export type RunPlan = {
  ends: "done" | "dead" | "retry" | "again" | "wait" | "throw" | "decision throws";
  turns: number;
  delayMs: number;
  decides: boolean;
};

/** The effect of an add if the task is known. */
export type OnDuplicate = NonNullable<NewTask["onDuplicate"]>;

/**
 * An operation on the queue. A commit adds tasks of its own. With `throws`, nothing of it may
 * remain.
 */
export type Operation =
  | { do: "add"; onDuplicate: OnDuplicate; shared: number; dueInMs: number; runs: RunPlan[] }
  | { do: "commit"; adds: number; throws: boolean };

type World = {
  version: number;
  acknowledged: number;
  /**
   * The version that the newest finished run saw. `begun` is the version at the start of the newest
   * run.
   */
  seen: number;
  begun: number;
  /** Versions that a run must see by a time, in epoch milliseconds. 0 means at once. */
  due: Array<{ version: number; dueAtMs: number }>;
};

type Outcome = "asked" | "yes" | "no" | "refused";

/**
 * The longest delay that handlers ask for, in milliseconds. A run that throws starts again after a
 * minute.
 */
const MAX_DELAY_MS = 65_000;
/**
 * The part of a set-back that a restart may fail to notice. The queue notes the time at least at
 * every sweep.
 */
const UNSEEN_MS = 75_000;

/**
 * Checks what must always hold of a queue. The acts of tasks are counted in records, which are
 * written in the same commit as the end of the run. So after a crash, these records say what
 * happened, not the memory of the process that is gone.
 */
export class TaskQueueModel {
  readonly faults: string[] = [];
  #process = 0;
  #tookOver = Promise.withResolvers<void>();
  #running = new Set<string>();
  readonly #plans = new Map<string, RunPlan[]>();
  /** The outcomes of each add, by the task's id. */
  readonly #adds = new Map<string, { onDuplicate: OnDuplicate; outcomes: Outcome[] }>();
  readonly #commits: Array<{ ids: string[]; throws: boolean; outcome: Outcome }> = [];
  /**
   * By shared id, the number of changes to the world that its task looks at, and the change that a
   * finished run saw.
   */
  readonly #world = new Map<string, World>();
  #isClockSet = false;
  #restarts = 0;
  #names = 0;

  /** Has a new process run tasks. From now on, the results of earlier handlers must not count. */
  async start(subject: ModelSubject): Promise<void> {
    subject.queue.start(this.#handler(subject));
    await subject.turn();
    this.#tookOver.resolve();
    this.#tookOver = Promise.withResolvers();
  }

  die(): void {
    this.#process += 1;
    this.#restarts += 1;
    this.#running = new Set();
  }

  clockWasSet(): void {
    this.#isClockSet = true;
  }

  /**
   * Performs an operation on the queue. Resolves when the queue has answered, and never if its
   * process is gone by then.
   */
  async ask(subject: ModelSubject, operation: Operation): Promise<void> {
    const process = this.#process;
    const answer = operation.do === "add" ? this.#add(subject, operation) : this.#commit(subject, operation);
    const note = await answer;
    if (process === this.#process) note();
  }

  /** Resolves to the faults, once all tasks have ended. */
  async verify(subject: ModelSubject): Promise<string[]> {
    // This runs in a decision, because the records that it reads are right only there.
    const faults = await subject.queue.commit((read) => ({ value: this.#faultsIn(read) }));
    const counts = await subject.queue.counts();
    if (counts.waiting + counts.running !== 0) faults.push(`not all is over: ${JSON.stringify(counts)}`);
    return faults;
  }

  #faultsIn(read: Read): string[] {
    const faults = [...this.faults];
    for (const [id, { onDuplicate, outcomes }] of this.#adds) {
      const { ended } = countsOf(read, id);
      const least = outcomes.filter((outcome) => outcome === "yes").length;
      const most = least + outcomes.filter((outcome) => outcome === "asked").length;
      if (onDuplicate === "latest") {
        const { acknowledged, seen } = this.#worldOf(id);
        if (seen < acknowledged) faults.push(`${id} saw ${seen} of ${acknowledged} changes`);
        if (least > 0 && ended === 0) faults.push(`${id} never ended`);
      } else if (ended < least || ended > most) {
        faults.push(`${id} was added ${least} to ${most} times and ended ${ended} times`);
      }
    }
    let committed = 0;
    let maybe = 0;
    for (const { ids, throws, outcome } of this.#commits) {
      const ended = ids.filter((id) => countsOf(read, id).ended === 1).length;
      const isAll = ended === ids.length;
      if (throws ? ended > 0 : outcome === "yes" ? !isAll : outcome === "refused" || (ended > 0 && !isAll)) {
        faults.push(`of a commit (${throws ? "throws" : outcome}) ${ended} of ${ids.length} tasks ended`);
      }
      if (outcome === "yes") committed += 1;
      if (outcome === "asked") maybe += 1;
    }
    const { ended: counted } = countsOf(read, "commits");
    if (counted < committed || counted > committed + maybe) {
      faults.push(`${committed} commits were acknowledged, and ${counted} were counted`);
    }
    for (const id of this.#plans.keys()) {
      const { steps } = countsOf(read, id);
      for (let n = 1; n <= steps + 1; n += 1) {
        const { ended } = countsOf(read, `${id}+${n}`);
        if (ended !== (n <= steps ? 1 : 0))
          faults.push(`step ${n} of ${steps} of ${id} added ${ended} tasks`);
      }
    }
    if (countsOf(read, "ghost").ended > 0) faults.push("a process that is gone wrote something");
    return faults;
  }

  /**
   * Checks at a time when nothing is due and nothing runs. A run must have begun since the change
   * before each due add.
   */
  isIdle(nowMs: number): void {
    for (const [id, { begun, due }] of this.#world) {
      const unseen = due.find(
        ({ version, dueAtMs }) =>
          version > begun && (this.#isClockSet ? dueAtMs === 0 && this.#restarts === 0 : dueAtMs <= nowMs),
      );
      if (unseen !== undefined && id.startsWith("latest")) {
        this.faults.push(`no run of ${id} has begun since change ${unseen.version}`);
      }
    }
  }

  /**
   * Checks that the queue isn't idle longer than anybody asked for, no matter which clock they
   * read.
   */
  isIdleUntil(dueAtMs: number, nowMs: number): void {
    const most = MAX_DELAY_MS + (this.#isClockSet ? this.#restarts * UNSEEN_MS + 20_000 : 0);
    if (dueAtMs - nowMs > most) this.faults.push(`nothing runs for ${dueAtMs - nowMs} ms`);
  }

  async #add(subject: ModelSubject, operation: Extract<Operation, { do: "add" }>): Promise<() => void> {
    const { onDuplicate, shared, dueInMs, runs } = operation;
    const id = onDuplicate === "once" ? this.#newName("t") : `${onDuplicate}-${shared}`;
    this.#plans.set(id, [...(this.#plans.get(id) ?? []), ...runs]);
    const outcomes: Outcome[] = this.#adds.get(id)?.outcomes ?? [];
    this.#adds.set(id, { onDuplicate, outcomes });
    const world = this.#worldOf(id);
    world.version += 1;
    const { version } = world;
    const index = outcomes.push("asked") - 1;
    const dueAt = subject.now() + dueInMs;
    const outcome = await subject.queue.add({ id, type: "test", onDuplicate, payload: null, dueAt }).then(
      (added): Outcome => (added ? "yes" : "no"),
      (): Outcome => "refused",
    );
    return () => {
      outcomes[index] = outcome;
      if (outcome === "refused") this.faults.push(`${id} was refused`);
      else {
        world.acknowledged = Math.max(world.acknowledged, version);
        world.due.push({ version, dueAtMs: dueInMs === 0 ? 0 : dueAt });
      }
      if (outcome === "no" && onDuplicate === "once") this.faults.push(`${id} was known before it was added`);
    };
  }

  async #commit(
    subject: ModelSubject,
    { adds, throws }: Extract<Operation, { do: "commit" }>,
  ): Promise<() => void> {
    const ids = Array.from({ length: adds }, () => this.#newName("c"));
    for (const id of ids) this.#plans.set(id, []);
    const commit: { ids: string[]; throws: boolean; outcome: Outcome } = { ids, throws, outcome: "asked" };
    this.#commits.push(commit);
    const outcome = await subject.queue
      .commit((read) => ({
        writes: [count(read, "commits")],
        // The last one can't be written as JSON, so the commit fails halfway, after its records
        // were written.
        adds: [
          ...ids.map((id) => ({ id, type: "test", payload: null })),
          ...(throws ? [{ id: "none", type: "test", payload: 1n }] : []),
        ],
        value: "yes" as const,
      }))
      .catch((): Outcome => "refused");
    return () => {
      commit.outcome = outcome;
      if ((outcome === "refused") !== throws) this.faults.push(`a commit was ${outcome}`);
    };
  }

  #handler(subject: ModelSubject): TaskHandler {
    const process = this.#process;
    return async (task) => {
      const { id } = task;
      if (this.#running.has(id)) this.faults.push(`${id} runs twice at once`);
      this.#running.add(id);
      const world = this.#worldOf(id);
      const { version } = world;
      world.begun = version;
      const plan: RunPlan = this.#plans.get(id)?.shift() ?? {
        ends: "done",
        turns: 0,
        delayMs: 0,
        decides: true,
      };
      for (let n = 0; n < plan.turns; n += 1) await subject.turn();
      if (process !== this.#process) {
        await this.#tookOver.promise;
        return (read) => ({
          writes: [count(read, "ghost")],
          adds: [{ id: "ghost", type: "test", payload: null }],
          value: { kind: "dead", reason: "from a process that is gone" },
        });
      }
      this.#running.delete(id);
      return this.#stepOf(task, plan, subject.now() + plan.delayMs, version);
    };
  }

  #stepOf({ id }: Task, plan: RunPlan, dueAt: number, version: number): Step {
    if (plan.ends === "throw") throw new Error("planned");
    if (plan.ends === "decision throws") {
      return (read) => ({
        writes: [count(read, id)],
        adds: [{ id: "none", type: "test", payload: 1n }],
        value: { kind: "done" },
      });
    }
    const end = endOf(plan.ends, dueAt);
    const isOver = end.kind === "done" || end.kind === "dead";
    if (!plan.decides && !isOver) return end;
    return (read) => {
      const { steps } = countsOf(read, id);
      const world = this.#worldOf(id);
      if (isOver) world.seen = Math.max(world.seen, version);
      const isChild = !this.#plans.has(id);
      return {
        writes: [count(read, id, isOver, !isChild)],
        adds: isChild ? [] : [{ id: `${id}+${steps + 1}`, type: "test", payload: null }],
        value: end,
      };
    };
  }

  #worldOf(id: string) {
    const known = this.#world.get(id);
    if (known !== undefined) return known;
    const world: World = { version: 0, acknowledged: 0, seen: 0, begun: 0, due: [] };
    this.#world.set(id, world);
    return world;
  }

  #newName(prefix: string): string {
    this.#names += 1;
    return `${prefix}${this.#names}`;
  }
}

/** Returns the numbers of a task's steps and ends in the records. */
function countsOf(read: Read, id: string): { steps: number; ended: number } {
  const [steps = 0, ended = 0] = (read("notice", id)?.delivery.shown ?? "0:0").split(":").map(Number);
  return { steps, ended };
}

function count(read: Read, id: string, isOver = true, isStep = true): Write {
  const { steps, ended } = countsOf(read, id);
  const shown = `${steps + (isStep ? 1 : 0)}:${ended + (isOver ? 1 : 0)}`;
  const delivery = { ...newDelivery({ channelId: "C1", threadTs: null }), shown };
  return { kind: "notice", id, record: { version: 1, delivery } };
}

function endOf(ends: Exclude<RunPlan["ends"], "throw" | "decision throws">, dueAt: number): TaskEnd {
  switch (ends) {
    case "done":
      return { kind: "done" };
    case "dead":
      return { kind: "dead", reason: "planned" };
    case "retry":
      return { kind: "retry", dueAt, reason: "planned" };
    case "again":
      return { kind: "again", dueAt };
    case "wait":
      return { kind: "wait", dueAt };
  }
}
