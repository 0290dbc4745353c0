import { setTimeout as sleep } from "node:timers/promises";
import { AppProcess } from "../support/app-process.ts";
import type { SoakStore } from "./soak-store.ts";

/** Slack may refuse the first call of a start; an operator's supervisor would start the program again. */
const MAX_STARTS = 20;
const RESTART_MS = 100;

/** The real program, started again whenever it is killed or stopped, as a supervisor does. */
export class RunningApp implements AsyncDisposable {
  readonly #env: Record<string, string>;
  readonly #onUrl: (url: string) => void;
  #app: AppProcess | null = null;
  #url = "";
  /** What is done to the process happens one after the other. */
  #turn: Promise<void> = Promise.resolve();
  readonly #logs: AppProcess[] = [];
  /** The process whose end was caused from here. */
  #ended: AppProcess | null = null;
  kills = 0;
  stops = 0;
  /** Starts after the first that ended before the program was ready. */
  failedStarts = 0;
  /** What a stop on SIGTERM ended with, where that was not 0. */
  readonly uncleanStops: string[] = [];

  /** Ends that nobody caused: exit codes or signals. */
  readonly ownEnds: string[] = [];

  /** `onUrl`: told where Slack's requests go, after each start. */
  constructor(options: { env: Record<string, string>; onUrl?: (url: string) => void }) {
    this.#env = options.env;
    this.#onUrl = options.onUrl ?? (() => {});
  }

  /** Where Slack's requests go. */
  get url(): string {
    return this.#url;
  }

  get isRunning(): boolean {
    return this.#app !== null && !this.#app.hasExited;
  }

  /** All that its processes have logged. */
  get log(): string {
    return this.#logs.map(({ stdout, stderr }) => stdout + stderr).join("\n--- next process ---\n");
  }

  /** Resolves when what was done to the process so far is over, and it runs. */
  up(): Promise<void> {
    return this.#next(() => this.#start());
  }

  /** SIGKILL at once; resolves when the process is gone. It is started again after `downMs`, which is not waited for. */
  async kill(downMs: number): Promise<void> {
    const app = this.#app;
    if (app === null || app.hasExited) return;
    this.kills += 1;
    this.#ended = app;
    app.signal("SIGKILL");
    void this.#next(async () => {
      await app.exit();
      await sleep(downMs);
      await this.#start();
    });
    await app.exit();
  }

  /** SIGSTOP at once: it does nothing, and its connections stay open. Resolves when it was resumed, after `forMs`. */
  async pause(forMs: number): Promise<void> {
    const app = this.#app;
    if (app === null || app.hasExited) return;
    app.signal("SIGSTOP");
    await sleep(forMs);
    app.signal("SIGCONT");
  }

  /** SIGTERM, and started again. */
  stop(): Promise<void> {
    return this.#next(async () => {
      const app = this.#app;
      if (app === null || app.hasExited) return;
      this.stops += 1;
      this.#ended = app;
      app.signal("SIGTERM");
      const ended = await app.exit();
      if (ended !== 0 && ended !== "SIGKILL") this.uncleanStops.push(String(ended));
      await this.#start();
    });
  }

  /** Resolves when nothing is left to do; to false when that takes too long. */
  async quiet(store: SoakStore): Promise<boolean> {
    await this.#next(async () => {});
    const app = this.#app;
    if (app === null) return false;
    const late = sleep(store.quietWithinMs, "late", { ref: false });
    const first = await Promise.race([store.quiet(app), late]);
    return first !== "late" && !app.hasExited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#next(async () => {
      if (this.#app !== null && !this.#app.hasExited) await this.#app.kill();
    });
  }

  /** Starts the program if it is not running. */
  async #start(): Promise<void> {
    for (let starts = 0; starts < MAX_STARTS; starts += 1) {
      if (this.isRunning) return;
      if (this.#app !== this.#ended) this.ownEnds.push(String(await this.#app?.exit()));
      const app = new AppProcess({ env: this.#env });
      this.#app = app;
      this.#logs.push(app);
      const url = await app.ready();
      if (url !== null) {
        this.#url = `${url}/slack/events`;
        this.#onUrl(this.#url);
        return;
      }
      this.#ended = app;
      this.failedStarts += 1;
      await sleep(RESTART_MS);
    }
    throw new Error(`The program did not start ${MAX_STARTS} times in a row. It said:\n${this.log}`);
  }

  #next(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }
}
