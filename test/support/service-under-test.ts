import type { DatabaseSync } from "node:sqlite";
import type { ServiceMeasure } from "../../src/service/base/service-measure.ts";
import type { ServiceConfig, ServiceProject } from "../../src/service/config/config.ts";
import { createJobService, type SelfHostedJobService } from "../../src/service/job-service.ts";
import type { JobTurn } from "../../src/shared/contract/turn.ts";
import type { Sent } from "../../src/shared/contract/reading.ts";
import type { Runner } from "../../src/service/runner/runner.ts";
import { createKey } from "../../src/service/jobs/keys.ts";
import { serveHttp } from "../../src/service/serve.ts";
import { openServiceDatabase } from "../../src/service/jobs/state-file.ts";
import { createHttpJobService, type HttpJobService } from "../../src/app/job-client/http-job-service.ts";
import type { Clock } from "../../src/shared/machine/ports.ts";
import { createSteadyClock } from "../../src/shared/machine/steady-clock.ts";
import { ManualClock } from "../../world/clock/manual-clock.ts";
import { RecordingLogger } from "./recording-logger.ts";
import { ScriptedRunner } from "./scripted-runner.ts";
import { makeServiceProject } from "./service-project.ts";
import { openTempDir, type TempDir } from "./temp-dir.ts";

/** Makes an agent that may ask people and waits an hour for an answer. */
export function makeAskingAgent(): ServiceProject["agent"] {
  return {
    kind: "acp",
    command: ["fix-docs"],
    timeLimitMinutes: 5,
    maxOutputBytes: 65_536,
    terminal: false,
    readable: [],
    styleGuide: [],
    limits: { memoryMegabytes: 4096, processes: 512, diskMegabytes: 2048 },
    permissions: "ask",
    startSeconds: 60,
    answerTimeLimitMinutes: 60,
  };
}

/** Options of {@link ServiceUnderTest}. */
export type ServiceOptions = {
  projects?: ServiceProject[];
  jobsAtOnce?: number;
  /** True if the service has no runner of its own. */
  isWithoutRunner?: boolean;
  /** If given, pull requests are followed. */
  env?: Record<string, string>;
  config?: Partial<Pick<ServiceConfig, "publicBaseUrl">>;
};

/** A request of the test. `key: null` sends no key. */
export type Ask = {
  method?: string;
  key?: string | null;
  headers?: Record<string, string>;
  body?: unknown;
};

/**
 * The service on a state file of its own, over real HTTP, with a runner and a clock that the test
 * moves.
 */
export class ServiceUnderTest implements AsyncDisposable {
  /** The clock of the machine. */
  readonly clock = new ManualClock();
  /** The clock of the program, which doesn't move if somebody sets the machine's clock. */
  ownClock: Clock = this.clock;
  readonly logger = new RecordingLogger();
  readonly dir: TempDir;
  readonly keys: Record<string, string> = {};
  readonly projects: ServiceProject[];
  runner = new ScriptedRunner();
  /** Hears what happens. */
  measure: ServiceMeasure = () => {};
  /** The number of times that the runner was told to look after its stored data. */
  upkeeps = 0;
  /** Reads the change that a job made. */
  readDiff: Runner["readDiff"] = async () => null;
  /** Closes a job's pull request. */
  closePull: Runner["closePull"] = async () => "closed";
  readonly #options: ServiceOptions;
  readonly #dead: SelfHostedJobService[] = [];
  readonly #clients: HttpJobService[] = [];
  #running: {
    service: SelfHostedJobService;
    database: Awaited<ReturnType<typeof openServiceDatabase>>;
    listening: Awaited<ReturnType<typeof serveHttp>>;
  } | null = null;

  private constructor(dir: TempDir, options: ServiceOptions) {
    this.dir = dir;
    this.#options = options;
    this.projects = options.projects ?? [
      makeServiceProject(),
      makeServiceProject({ id: "api", name: "API" }),
    ];
  }

  static async start(options: ServiceOptions = {}): Promise<ServiceUnderTest> {
    const subject = new ServiceUnderTest(await openTempDir(), options);
    await subject.start();
    for (const { id } of subject.projects) {
      const nowMs = subject.clock.now();
      subject.keys[id] = createKey(subject.db, { prefix: "docsagent", projectId: id, nowMs }).key;
    }
    return subject;
  }

  get #live() {
    if (this.#running === null) throw new Error("The service is stopped");
    return this.#running;
  }
  get url() {
    return this.#live.listening.url;
  }
  get db() {
    return this.#live.database.db;
  }
  get service() {
    return this.#live.service;
  }
  get store() {
    return this.#live.service.store;
  }

  /** Pretends that all turns so far left this pull request. */
  notePullRequest(number: number): void {
    const url = `https://git.example/acme/docs/pull/${number}`;
    const size = { files: null, additions: null, deletions: null };
    const head = { headRef: "docs-agent/job", headSha: "c".repeat(40) };
    const left = {
      url,
      number,
      title: "Fix",
      state: "open",
      ...size,
      ...head,
    } satisfies Sent<typeof JobTurn>["pullRequest"];
    this.db.prepare("UPDATE turns SET pull_request = ?").run(JSON.stringify(left));
  }

  async start(): Promise<void> {
    const { logger } = this;
    const clock = createSteadyClock(this.clock);
    this.ownClock = clock;
    const database = await openServiceDatabase({ dataDir: this.dir.path }, { clock, ownerWaitMs: 0 });
    const service = createJobService({
      config: {
        dataDir: this.dir.path,
        keyPrefix: "docsagent",
        projects: this.projects,
        jobsAtOnce: this.#options.jobsAtOnce ?? 8,
        publicBaseUrl: this.#options.config?.publicBaseUrl ?? null,
      },
      database,
      runner:
        this.#options.isWithoutRunner === true
          ? null
          : {
              run: (input) => this.runner.runTurn(input),
              readDiff: (input) => this.readDiff(input),
              closePull: (input) => this.closePull(input),
              upkeep: async () => {
                this.upkeeps += 1;
              },
            },
      clock,
      logger,
      measure: (what) => this.measure(what),
      env: this.#options.env ?? {},
    });
    const listening = await serveHttp(service.app, { host: "127.0.0.1", port: 0 });
    await service.start();
    this.#running = { service, database, listening };
  }

  async stop(graceMs = 0): Promise<void> {
    const running = this.#running;
    if (running === null) return;
    this.#running = null;
    await running.listening.close();
    await running.service.stop(graceMs);
    running.database.close();
  }

  /**
   * Pretends that the process died: running turns are gone, and nothing is written anymore.
   * `damage` changes the file afterwards.
   */
  async crash(damage: (db: DatabaseSync) => unknown = () => {}): Promise<void> {
    const running = this.#live;
    this.#running = null;
    running.database.close();
    await running.listening.close();
    const database = await openServiceDatabase(
      { dataDir: this.dir.path },
      { clock: this.clock, ownerWaitMs: 0 },
    );
    damage(database.db);
    database.close();
    this.#dead.push(running.service);
  }

  client(projectId = "docs", apiKey = this.keys[projectId] ?? ""): HttpJobService {
    const client = createHttpJobService({ baseUrl: this.url, projectId, apiKey, timeoutMs: 5000 });
    this.#clients.push(client);
    return client;
  }

  /** Sends one request. A body that is neither text nor bytes is sent as JSON. */
  async ask(path: string, { method, key, headers, body }: Ask = {}): Promise<Response> {
    const sentKey = key === undefined ? this.keys["docs"] : key;
    return await fetch(`${this.url}${path}`, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: {
        ...(sentKey === null || sentKey === undefined ? {} : { authorization: `Bearer ${sentKey}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body) }),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
    await this.stop();
    await Promise.all(this.#dead.map((service) => service.stop(0)));
    await this.dir[Symbol.asyncDispose]();
  }
}
