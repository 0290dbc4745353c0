import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { COMPILE_CACHE } from "./child-process.ts";

/** A program of this project, and the message with which it logs that it is ready. */
export type Program = { file: string; args: string[]; readyMessage: string };

const SLACK_APP: Program = { file: "src/app/main.ts", args: [], readyMessage: "docs-agent is ready" };
const Ready = z.object({ address: z.string() });
const Readiness = z.object({
  status: z.string(),
  checks: z.record(z.string(), z.string()),
  tasks: z.object({ waiting: z.number(), running: z.number(), dead: z.number() }),
  records_set_aside: z.number(),
});

/** Options of {@link AppProcess.start}. */
export type AppProcessOptions = {
  env: Record<string, string | undefined>;
  /** @default the Slack app */
  program?: Program;
  /** See `kill-at-commit.ts`. */
  killAtCommit?: string;
  /** A module that Node.js loads before the program. */
  preload?: string;
  onCommit?: (commit: { commit: number; isEmpty: boolean; sql: string }) => void;
};

/** The real program, in a process of its own. */
export class AppProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exited: Promise<number | NodeJS.Signals | null>;
  readonly #readyMessage: string;
  #stdout = "";
  #stderr = "";

  constructor({ env, program = SLACK_APP, killAtCommit, preload, onCommit }: AppProcessOptions) {
    this.#readyMessage = `"msg":"${program.readyMessage}"`;
    const main = fileURLToPath(new URL(`../../${program.file}`, import.meta.url));
    const atCommits = new URL("./kill-at-commit.ts", import.meta.url).href;
    const modules = [
      ...(killAtCommit === undefined && onCommit === undefined ? [] : [atCommits]),
      ...(preload === undefined ? [] : [preload]),
    ];
    const args = modules.flatMap((module) => ["--import", module]);
    this.#child = spawn(process.execPath, [...args, main, ...program.args], {
      // Away from any .env of the person who runs the tests.
      cwd: tmpdir(),
      env: {
        PATH: process.env["PATH"],
        NODE_COMPILE_CACHE: COMPILE_CACHE,
        KILL_AT_COMMIT: killAtCommit,
        ...env,
      },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => (this.#stdout += text));
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.#stderr += text));
    if (onCommit !== undefined) this.#child.on("message", onCommit);
    this.#exited = once(this.#child, "close").then(() => this.#child.exitCode ?? this.#child.signalCode);
  }

  /** Starts the program and waits until it is ready. Resolves to null if it ended before. */
  static async start(options: AppProcessOptions): Promise<{ app: AppProcess; url: string } | null> {
    const app = new AppProcess(options);
    const url = await app.ready();
    return url === null ? null : { app, url };
  }

  /** Everything it has logged. */
  get stdout(): string {
    return this.#stdout;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get stderr(): string {
    return this.#stderr;
  }

  get hasExited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Resolves to the address it listens on once it is ready, or to null if it ends before. */
  async ready(): Promise<string | null> {
    for (;;) {
      const line = this.#stdout.split("\n").find((candidate) => candidate.includes(this.#readyMessage));
      if (line !== undefined) {
        const { address } = Ready.parse(JSON.parse(line));
        return address.startsWith("http") ? address : `http://${address}`;
      }
      const next = await Promise.race([
        this.#child.stdout === null ? "end" : once(this.#child.stdout, "data").then(() => "data"),
        this.#exited.then(() => "end"),
      ]);
      if (next === "end") return null;
    }
  }

  /** Resolves to the exit code, or to the signal that ended it. */
  async exit(): Promise<number | NodeJS.Signals | null> {
    return this.#exited;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Kills it without any handler, as a power cut would. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.#exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.hasExited) await this.kill();
  }
}

/**
 * The check of a job that is followed only for its pull request counts as work if it is due within
 * this time, in milliseconds.
 */
export const LOOK_SOON_MS = 5_000;

/**
 * Resolves when the app on `storePath` has nothing left to do except tasks of the far future, or
 * when it has died.
 */
export async function quiet(storePath: string, app: AppProcess): Promise<void> {
  const db = new DatabaseSync(storePath, { readOnly: true });
  try {
    // A feed never ends.
    const busy = db.prepare(`SELECT count(*) AS busy FROM tasks WHERE state = 'waiting' AND type <> 'feed'
      AND (due_at < ? OR coalesce(payload, '') NOT LIKE '%"isFollowing":true%')`);
    const isBusy = () => Number(busy.get(Date.now() + LOOK_SOON_MS)?.["busy"]) > 0;
    while (!app.hasExited && isBusy()) await sleep(10);
  } finally {
    db.close();
  }
}

/** Resolves to the body of `/readyz`. */
export async function readiness(url: string): Promise<z.infer<typeof Readiness>> {
  const response = await fetch(`${url}/readyz`);
  return Readiness.parse(await response.json());
}
