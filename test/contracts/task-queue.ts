import { describe } from "vitest";
import type { AppQueue } from "../../src/app/rules/records.ts";
import { describeAdding } from "./task-queue/adding.ts";
import { describeClock } from "./task-queue/clock.ts";
import { describeCrash } from "./task-queue/crash.ts";
import { describeLimits } from "./task-queue/limits.ts";
import { describeRunning } from "./task-queue/running.ts";
import { describeSeries } from "./task-queue/series.ts";
import { describeSteps } from "./task-queue/steps.ts";
import { describeStopping } from "./task-queue/stopping.ts";
import type { Series } from "../../src/shared/store/series.ts";

/** A queue under test, with the time, the faults and the crashes that tests need. */
export type TaskQueueSubject = AsyncDisposable & {
  /** The queue that is open now. After `reopen` it is another one. */
  readonly queue: AppQueue;
  /** The series to which it appends. */
  readonly series: Series;
  /** The time of the process that has the queue, in epoch milliseconds. */
  now(): number;
  /** Lets time pass, in milliseconds. */
  advance(ms: number): void;
  /** Sets the machine's clock forward or back, in milliseconds, without letting time pass. */
  setClock(byMs: number): void;
  /** Resolves when nothing runs and nothing is due. */
  idle(): Promise<void>;
  /** Resolves when everything that was asked for is on the disk. */
  settled(): Promise<void>;
  /**
   * Makes the process die without notice and a new one open the same data. It has died when this
   * returns its promise. Results of the old process's handlers come too late.
   */
  reopen(): Promise<void>;
  /** Makes all writes fail. Resolves to a function that ends this. */
  failWrites(): Promise<() => Promise<void>>;
  /** The number of tasks of any type but `slow.type` that run at once. */
  readonly concurrency: number;
  /** A type of task with a pool of its own, and the number of such tasks that run at once. */
  readonly slow: { type: string; concurrency: number };
};

/** Tests what any task queue must do. `open` opens an empty one. */
export function describeTaskQueue(name: string, open: () => Promise<TaskQueueSubject>): void {
  describe(`${name}: adding`, () => {
    describeAdding(open);
  });
  describe(`${name}: running`, () => {
    describeRunning(open);
  });
  describe(`${name}: steps and commits`, () => {
    describeSteps(open);
  });
  describe(`${name}: series`, () => {
    describeSeries(open);
  });
  describe(`${name}: limits`, () => {
    describeLimits(open);
  });
  describe(`${name}: the clock is set`, () => {
    describeClock(open);
  });
  describe(`${name}: crash`, () => {
    describeCrash(open);
  });
  describe(`${name}: stopping, check and counts`, () => {
    describeStopping(open);
  });
}
