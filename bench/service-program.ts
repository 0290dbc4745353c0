import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import { z } from "zod";
import type { Checkout } from "./checkout.ts";
import { Program } from "./program.ts";
import { BenchError } from "./scenario.ts";

const KEY_TIMEOUT_MS = 30_000;
const LOOK_EVERY_MS = 10;
const ENDS_WITHIN_MS = 120_000;

const Ready = z.object({ address: z.string() });
const Job = z.object({ id: z.string(), status: z.string(), prLink: z.string().nullish() });
type Job = z.infer<typeof Job>;

/** A project in the form of the settings file. */
export type ProjectSettings = { id: string; [setting: string]: unknown };

type ServeOptions = {
  checkout: Checkout;
  dir: string;
  jobsAtOnce: number;
  projects: readonly [ProjectSettings, ...ProjectSettings[]];
  /** The secrets that the projects name. */
  env?: Record<string, string>;
  /** The address to listen on. @default "127.0.0.1" */
  host?: string;
};

/**
 * The self-hosted job service, started as its npm script starts it, with projects on repositories
 * of this machine. If a call names no project, it means the first one.
 */
export class ServiceProgram implements AsyncDisposable {
  readonly program: Program;
  readonly address: string;
  /** The key of the first project. */
  readonly key: string;
  readonly #first: string;
  readonly #keys: ReadonlyMap<string, string>;
  readonly #pool: Pool;

  private constructor(program: Program, first: string, keys: ReadonlyMap<string, string>) {
    this.program = program;
    this.address = Ready.parse(program.ready).address;
    this.#first = first;
    this.#keys = keys;
    this.key = keys.get(first) ?? "";
    this.#pool = new Pool(this.address, { connections: 16, pipelining: 1 });
  }

  /**
   * Starts it. `script` is a line for `sh`, which works in the tree as the agent. It may be any
   * program, or one that speaks ACP.
   */
  static async start(options: {
    checkout: Checkout;
    dir: string;
    repository: string;
    script: string;
    jobsAtOnce: number;
    kind?: "command" | "acp";
  }): Promise<ServiceProgram> {
    const { checkout, dir, repository, script, jobsAtOnce, kind = "command" } = options;
    const project = {
      id: "docs",
      repository,
      agent: { kind, command: ["sh", "-c", script], maxOutputBytes: 1024 ** 3 },
      codeHost: { kind: "none" },
      limits: { createsPerHour: 100_000, jobsAtOnce, queued: 10_000 },
    };
    return ServiceProgram.serve({ checkout, dir, jobsAtOnce, projects: [project] });
  }

  static async serve({
    checkout,
    dir,
    jobsAtOnce,
    projects,
    env: secrets = {},
    host = "127.0.0.1",
  }: ServeOptions): Promise<ServiceProgram> {
    mkdirSync(dir, { recursive: true });
    const config = join(dir, "service.yml");
    // JSON is YAML.
    const settings = {
      listen: { host, port: 0 },
      dataDir: join(dir, "data"),
      stopGraceMinutes: 0,
      jobsAtOnce,
      projects,
    };
    writeFileSync(config, JSON.stringify(settings));
    // In some commits it is outside of `src`.
    const places = ["src/service/main.ts", "service/main.ts"].map((place) => join(checkout.root, place));
    const main = places.find((place) => existsSync(place)) ?? "src/service/main.ts";
    // For git and the shell.
    const env = { PATH: "/usr/local/bin:/usr/bin:/bin", ...secrets };
    const keys = projects.map(({ id }): [string, string] => {
      const args = [main, "keys", "create", "--project", id, "--config", config];
      const options = { cwd: dir, env, timeout: KEY_TIMEOUT_MS, encoding: "utf8" } as const;
      return [id, execFileSync(process.execPath, args, options).trim()];
    });
    const program = await Program.start({ nodeArgs: [main, "serve", "--config", config], env, dir });
    return new ServiceProgram(program, projects[0].id, new Map(keys));
  }

  /**
   * Creates a job and waits for its turn to end. Resolves to the time that took, in milliseconds.
   */
  async runJob(): Promise<number> {
    const startedAt = performance.now();
    await this.ended(await this.create(), { withinMs: ENDS_WITHIN_MS });
    return performance.now() - startedAt;
  }

  /** Resolves to the job once its turns have ended. */
  async ended(
    jobId: string,
    { project = this.#first, withinMs, lookEveryMs = LOOK_EVERY_MS }: Waiting,
  ): Promise<Job> {
    const giveUpAt = performance.now() + withinMs;
    while (performance.now() < giveUpAt) {
      const job = await this.get(jobId, project);
      if (job.status !== "active") return job;
      await sleep(lookEveryMs);
    }
    throw new BenchError("A turn didn't end in time.");
  }

  async get(jobId: string, project = this.#first): Promise<Job> {
    return Job.parse(await this.ask(project, { path: `/${jobId}` }));
  }

  /** Creates a job without waiting for its end. */
  async create(project = this.#first, request: Turn = { prompt: "Add a line" }): Promise<string> {
    return Job.parse(await this.ask(project, { body: JSON.stringify(request) })).id;
  }

  /** Sends a request about a project's jobs. Resolves to the answer as JSON. */
  async ask(
    project: string,
    { path = "", body = null, reads = "" }: { path?: string; body?: string | null; reads?: string },
  ): Promise<unknown> {
    const answer = await this.#pool.request({
      method: body === null ? "GET" : "POST",
      path: `/v2/agent/${project}/job${path}`,
      body,
      headers: {
        authorization: `Bearer ${this.#keys.get(project)}`,
        "content-type": "application/json",
        ...(reads !== "" && { "docs-agent-capabilities": reads }),
      },
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new BenchError(`The job service answered ${answer.statusCode}.`);
    return JSON.parse(text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.close();
    await this.program.stop();
  }
}

/** A request for a turn in the service's form. */
type Turn = { prompt: string; words?: string };
type Waiting = { project?: string; withinMs: number; lookEveryMs?: number };
