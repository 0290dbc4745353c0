import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/logger.ts";
import { messageOf } from "../../errors.ts";
import { JobListener } from "./job-listener.ts";

/** How many listeners a project may have at once. */
export const MAX_LISTENERS = 50;
/** How soon what another process wrote is noticed. */
const LOOK_EVERY_MS = 1000;

/** A job as listeners get it: one event's data. `isOver`: nothing more will happen to it. */
export type FeedState = { data: string; isOver: boolean };

export type JobFeedDeps = {
  /** The job as it is now; null: there is none. */
  read: (jobId: string) => FeedState | null;
  /** Another number after another process has written. */
  dataVersion: () => number;
  clock: Clock;
  logger: Logger;
};

/** Whether a listener may still be told anything. */
type IsWelcome = () => boolean;

type Watched = { data: string; listeners: Map<JobListener, IsWelcome> };

/**
 * Tells listeners how their job is, at first and after each change. A job is read once per change, however many listen. A listener that
 * reads slowly misses states in between, and never the last one.
 */
export class JobFeed {
  readonly #deps: JobFeedDeps;
  readonly #jobs = new Map<string, Watched>();
  readonly #listening = new Map<string, number>();
  readonly #changed = new Set<string>();
  #cancelLook: (() => void) | null = null;
  #dataVersion = 0;
  #isClosed = false;

  constructor(deps: JobFeedDeps) {
    this.#deps = deps;
  }

  /**
   * The job as server-sent events; "full" if the project has too many listeners, null if there is no such job. `isWelcome` is asked before
   * anything more is told, and after each write of another process: once it says no, the stream ends.
   */
  listen(
    projectId: string,
    jobId: string,
    isWelcome: IsWelcome,
  ): ReadableStream<Uint8Array<ArrayBuffer>> | "full" | null {
    const listening = this.#listening.get(projectId) ?? 0;
    if (listening >= MAX_LISTENERS) return "full";
    // Before the job is read: what another process writes from now on is noticed.
    if (this.#cancelLook === null) this.#dataVersion = this.#deps.dataVersion();
    const state = this.#deps.read(jobId);
    if (state === null) return null;
    const watched = this.#jobs.get(jobId) ?? { data: state.data, listeners: new Map() };
    const listener = new JobListener(this.#deps.clock, () => {
      watched.listeners.delete(listener);
      if (watched.listeners.size === 0) this.#jobs.delete(jobId);
      this.#count(projectId, -1);
      if (this.#jobs.size === 0) this.#rest();
    });
    this.#jobs.set(jobId, watched);
    watched.listeners.set(listener, isWelcome);
    this.#count(projectId, 1);
    listener.tell(state.data);
    if (state.isOver || this.#isClosed) listener.end();
    else this.#look();
    return listener.stream;
  }

  /** To be called after each change of a job. */
  changed(jobId: string): void {
    if (!this.#jobs.has(jobId)) return;
    if (this.#changed.size === 0) queueMicrotask(() => this.#publishChanged());
    this.#changed.add(jobId);
  }

  /** Ends the listeners of now and later. */
  close(): void {
    this.#isClosed = true;
    this.#rest();
    for (const { listeners } of this.#jobs.values()) for (const listener of listeners.keys()) listener.end();
  }

  #publishChanged(): void {
    const jobs = [...this.#changed];
    this.#changed.clear();
    for (const jobId of jobs) {
      try {
        this.#publish(jobId);
      } catch (thrown) {
        const fields = { job_id: jobId, error: messageOf(thrown) };
        this.#deps.logger.warn(fields, "a job's listeners cannot be told how it is");
      }
    }
  }

  #publish(jobId: string): void {
    const watched = this.#jobs.get(jobId);
    if (watched === undefined) return;
    const listeners: JobListener[] = [];
    for (const [listener, isWelcome] of watched.listeners) {
      if (isWelcome()) listeners.push(listener);
      else listener.end();
    }
    const state = this.#deps.read(jobId);
    if (state !== null && state.data !== watched.data) {
      watched.data = state.data;
      for (const listener of listeners) listener.tell(state.data);
    }
    if (state === null || state.isOver) for (const listener of listeners) listener.end();
  }

  /** While somebody listens: one cheap question a second, for all of them, whether another process has written. */
  #look(): void {
    if (this.#cancelLook !== null || this.#isClosed) return;
    const { clock, dataVersion, logger } = this.#deps;
    const lookLater = () => {
      this.#cancelLook = clock.wakeAt(clock.now() + LOOK_EVERY_MS, () => {
        try {
          const before = this.#dataVersion;
          this.#dataVersion = dataVersion();
          if (this.#dataVersion !== before) for (const jobId of this.#jobs.keys()) this.changed(jobId);
        } catch (thrown) {
          logger.warn({ error: messageOf(thrown) }, "cannot see whether another process has written");
        }
        lookLater();
      });
    };
    lookLater();
  }

  #rest(): void {
    this.#cancelLook?.();
    this.#cancelLook = null;
  }

  #count(projectId: string, change: number): void {
    this.#listening.set(projectId, (this.#listening.get(projectId) ?? 0) + change);
  }
}
