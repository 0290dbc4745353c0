import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Env } from "../service/config/env.ts";
import { messageOf } from "../shared/errors.ts";
import { programFile } from "../shared/machine/this-copy.ts";

const READY_WITHIN_MS = 60_000;
const STOP_WITHIN_MS = 15_000;
/** Of what a program wrote, for whoever looks why it ended. */
const KEPT_CHARS = 2_000;

type Name = "service" | "app";

/** Where each program begins, and what its log says once it is ready. */
const PROGRAMS: Readonly<Record<Name, { main: string; ready: string; args: readonly string[] }>> = {
  service: { main: "../service/main", ready: "job service is ready", args: ["--config", "service.yml"] },
  app: { main: "../app/main", ready: "docs-agent is ready", args: [] },
};

/** How a start went: the path of the log, or what the program said before it ended. */
export type Started = { isReady: boolean; said: string; log: string };

/** Both programs, as children of this process. They end with it. */
export class Programs implements AsyncDisposable {
  readonly #folder: string;
  readonly #logs: string;
  readonly #env: Env;
  readonly #running = new Map<Name, ChildProcess>();

  /** `folder` has the settings, and `logs` gets what the programs write. */
  constructor({ folder, logs, env }: { folder: string; logs: string; env: Env }) {
    this.#folder = folder;
    this.#logs = logs;
    this.#env = env;
  }

  isRunning(name: Name): boolean {
    return this.#running.has(name);
  }

  /** Starts a program, after ending the one that runs. Resolves once it is ready, or has ended. */
  async start(name: Name): Promise<Started> {
    await this.#stop(name);
    await mkdir(this.#logs, { recursive: true });
    const { main, ready, args } = PROGRAMS[name];
    const log = join(this.#logs, `${name}.log`);
    const child = spawn(process.execPath, [programFile(main, import.meta.url), ...args], {
      cwd: this.#folder,
      env: { ...this.#env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const written = createWriteStream(log, { flags: "a", mode: 0o600 });
    this.#running.set(name, child);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    let said = "";
    const take = (text: string) => {
      written.write(text);
      said = (said + text).slice(-KEPT_CHARS);
      if (said.includes(ready)) resolve(true);
    };
    child.stdout.setEncoding("utf8").on("data", take);
    child.stderr.setEncoding("utf8").on("data", take);
    child.once("error", (error) => take(messageOf(error)));
    child.once("close", () => {
      written.end();
      if (this.#running.get(name) === child) this.#running.delete(name);
      resolve(false);
    });
    const late = setTimeout(resolve, READY_WITHIN_MS, false);
    const isReady = await promise;
    clearTimeout(late);
    if (!isReady) await this.#stop(name);
    return { isReady, said: said.trim().split("\n").at(-1) ?? "", log };
  }

  async #stop(name: Name): Promise<void> {
    const child = this.#running.get(name);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "close");
    child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), STOP_WITHIN_MS);
    await ended;
    clearTimeout(late);
  }

  /** Ends both. The app first, so that it doesn't find its service gone. */
  async stop(): Promise<void> {
    await this.#stop("app");
    await this.#stop("service");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
