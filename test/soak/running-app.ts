import { setTimeout as sleep } from "node:timers/promises";
import type { SlackSide } from "../../emulators/slack/index.ts";
import { AppProcess } from "../support/app-process.ts";
import type { SoakStore } from "./soak-store.ts";

/** Slack may refuse the first call of a start; an operator's supervisor would start the program again. */
const MAX_STARTS = 20;
const RESTART_MS = 100;

/** The real program, started again whenever it is killed or stopped, as a supervisor does. */
export class RunningApp implements AsyncDisposable {
  readonly #env: Record<string, string>;
  readonly #slack: SlackSide;
  readonly #store: SoakStore;
  #app: AppProcess | null = null;
  #url = "";
  /** What is done to the process happens one after the other. */
  #turn: Promise<void> = Promise.resolve();
  readonly #logs: AppProcess[] = [];
  kills = 0;
  stops = 0;
  /** Starts after the first that ended before the program was ready. */
  failedStarts = 0;
  /** What a stop on SIGTERM ended with, where that was not 0. */
  readonly uncleanStops: string[] = [];

  constructor(options: { env: Record<string, string>; slack: SlackSide; store: SoakStore }) {
    this.#env = options.env;
    this.#slack = options.slack;
    this.#store = options.store;
  }

  /** Where Slack's requests go. */
  get url(): string {
    return this.#url;
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
    app.signal("SIGKILL");
    void this.#next(async () => {
      await app.exit();
      await sleep(downMs);
      await this.#start();
    });
    await app.exit();
  }

  /** SIGTERM, and started again. */
  stop(): Promise<void> {
    return this.#next(async () => {
      const app = this.#app;
      if (app === null || app.hasExited) return;
      this.stops += 1;
      app.signal("SIGTERM");
      const ended = await app.exit();
      if (ended !== 0 && ended !== "SIGKILL") this.uncleanStops.push(String(ended));
      await this.#start();
    });
  }

  /** Resolves when nothing is left to do; to false when that takes too long. */
  async quiet(): Promise<boolean> {
    await this.#next(async () => {});
    const app = this.#app;
    if (app === null) return false;
    const late = sleep(this.#store.quietWithinMs, "late", { ref: false });
    const first = await Promise.race([this.#store.quiet(app), late]);
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
      if (this.#app !== null && !this.#app.hasExited) return;
      const app = new AppProcess({ env: this.#env });
      this.#app = app;
      this.#logs.push(app);
      const url = await app.ready();
      if (url !== null) {
        this.#url = `${url}/slack/events`;
        this.#slack.setAppUrl(this.#url);
        return;
      }
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
