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
  /** The queue that is open now: another one after `reopen`. */
  readonly queue: AppQueue;
  /** What it appends to. */
  readonly series: Series;
  /** The time of the process that has the queue, in epoch milliseconds. */
  now(): number;
  /** Lets time pass, in milliseconds. */
  advance(ms: number): void;
  /** Somebody sets the machine's clock, by so many milliseconds; no time passes. */
  setClock(byMs: number): void;
  /** Resolves when nothing runs and nothing is due. */
  idle(): Promise<void>;
  /** Resolves when all that was asked for so far is on the disk. */
  settled(): Promise<void>;
  /**
   * The process dies without a word, and a new one opens the same data. It has died when this returns its promise. What the old
   * one's handlers return comes late.
   */
  reopen(): Promise<void>;
  /** Nothing can be written until what it resolves to is called. */
  failWrites(): Promise<() => Promise<void>>;
  /** How many tasks run at once, of any type but `slow.type`. */
  readonly concurrency: number;
  /** A type of task that has a pool of its own, and how many of it run at once. */
  readonly slow: { type: string; concurrency: number };
};

/** What any task queue must do. `open` opens an empty one. */
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
