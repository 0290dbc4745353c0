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
const Job = z.object({ id: z.string(), status: z.string() });

/**
 * The self-hosted job service as its npm script starts it, with one project on a repository of this
 * machine.
 */
export class ServiceProgram implements AsyncDisposable {
  readonly program: Program;
  readonly address: string;
  readonly key: string;
  readonly #pool: Pool;
  readonly #headers: Record<string, string>;

  private constructor(program: Program, key: string) {
    this.program = program;
    this.address = Ready.parse(program.ready).address;
    this.key = key;
    this.#pool = new Pool(this.address, { connections: 16, pipelining: 1 });
    this.#headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  }

  /**
   * `script` is a line for `sh`, which works in the tree as the agent: any program, or one that
   * speaks ACP.
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
    mkdirSync(dir, { recursive: true });
    const config = join(dir, "service.yml");
    // JSON is YAML.
    const settings = {
      listen: { host: "127.0.0.1", port: 0 },
      dataDir: join(dir, "data"),
      stopGraceMinutes: 0,
      jobsAtOnce,
      projects: [
        {
          id: "docs",
          repository,
          agent: { kind, command: ["sh", "-c", script], maxOutputBytes: 1024 ** 3 },
          codeHost: { kind: "none" },
          limits: { createsPerHour: 100_000, jobsAtOnce, queued: 10_000 },
        },
      ],
    };
    writeFileSync(config, JSON.stringify(settings));
    // Earlier commits have it in `src`.
    const places = ["service/main.ts", "src/service/main.ts"].map((place) => join(checkout.root, place));
    const main = places.find((place) => existsSync(place)) ?? "service/main.ts";
    // For git and the shell.
    const env = { PATH: "/usr/local/bin:/usr/bin:/bin" };
    const key = execFileSync(
      process.execPath,
      [main, "keys", "create", "--project", "docs", "--config", config],
      { cwd: dir, env, timeout: KEY_TIMEOUT_MS, encoding: "utf8" },
    );
    const program = await Program.start({ nodeArgs: [main, "serve", "--config", config], env, dir });
    return new ServiceProgram(program, key.trim());
  }

  /**
   * Creates a job and waits until its turn has ended. Resolves to how long that took, milliseconds.
   */
  async runJob(): Promise<number> {
    const startedAt = performance.now();
    const { id } = await this.#ask("POST", "/v2/agent/docs/job", JSON.stringify({ prompt: "Add a line" }));
    while (performance.now() - startedAt < ENDS_WITHIN_MS) {
      if ((await this.get(id)).status !== "active") return performance.now() - startedAt;
      await sleep(LOOK_EVERY_MS);
    }
    throw new BenchError("A turn didn't end in time.");
  }

  async get(jobId: string): Promise<z.infer<typeof Job>> {
    return this.#ask("GET", `/v2/agent/docs/job/${jobId}`, null);
  }

  /** Creates a job whose end nobody waits for. */
  async create(): Promise<string> {
    return (await this.#ask("POST", "/v2/agent/docs/job", JSON.stringify({ prompt: "Add a line" }))).id;
  }

  async #ask(method: "GET" | "POST", path: string, body: string | null): Promise<z.infer<typeof Job>> {
    const answer = await this.#pool.request({ method, path, body, headers: this.#headers });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw new BenchError(`The job service answered ${answer.statusCode}.`);
    return Job.parse(JSON.parse(text));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.close();
    await this.program.stop();
  }
}
