import { setTimeout as sleep } from "node:timers/promises";
import { AppProcess } from "../support/app-process.ts";
import type { SoakStore } from "./soak-store.ts";

/**
 * Slack may refuse the first call of a start. An operator's supervisor would then start the program
 * again.
 */
const MAX_STARTS = 20;
const RESTART_MS = 100;

/** The real program, which is started again after each kill and stop, as by a supervisor. */
export class RunningApp implements AsyncDisposable {
  readonly #env: Record<string, string>;
  readonly #onUrl: (url: string) => void;
  #app: AppProcess | null = null;
  #url = "";
  /** Acts on the process run one after the other. */
  #turn: Promise<void> = Promise.resolve();
  readonly #logs: AppProcess[] = [];
  /** The process that was ended from here. */
  #ended: AppProcess | null = null;
  kills = 0;
  stops = 0;
  /** The number of starts, after the first one, that ended before the program was ready. */
  failedStarts = 0;
  /** The ends of stops with SIGTERM that weren't 0. */
  readonly uncleanStops: string[] = [];

  /** Exit codes or signals of ends that nobody caused. */
  readonly ownEnds: string[] = [];

  /** `onUrl` gets the address for Slack's requests after each start. */
  constructor(options: { env: Record<string, string>; onUrl?: (url: string) => void }) {
    this.#env = options.env;
    this.#onUrl = options.onUrl ?? (() => {});
  }

  /** The address for Slack's requests. */
  get url(): string {
    return this.#url;
  }

  get isRunning(): boolean {
    return this.#app !== null && !this.#app.hasExited;
  }

  /** Everything that its processes have logged. */
  get log(): string {
    return this.#logs.map(({ stdout, stderr }) => stdout + stderr).join("\n--- next process ---\n");
  }

  /** Resolves when all acts on the process are over and it runs. */
  up(): Promise<void> {
    return this.#next(() => this.#start());
  }

  /**
   * Sends SIGKILL at once. Resolves when the process has ended. It starts again after `downMs`,
   * without waiting for it.
   */
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

  /**
   * Sends SIGSTOP at once. The process does nothing, and its connections stay open. Resolves after
   * it was resumed, after `forMs`.
   */
  async pause(forMs: number): Promise<void> {
    const app = this.#app;
    if (app === null || app.hasExited) return;
    app.signal("SIGSTOP");
    await sleep(forMs);
    app.signal("SIGCONT");
  }

  /** Sends SIGTERM, and starts the program again. */
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

  /** Resolves to true when nothing is left to do, or to false if that takes too long. */
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

  /** Starts the program if it isn't running. */
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
