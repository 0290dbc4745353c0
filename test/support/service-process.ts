import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { z } from "zod";
import { need } from "./need.ts";
import { openTempDir, type TempDir } from "./temp-dir.ts";

const MAIN = fileURLToPath(new URL("../../src/service/main.ts", import.meta.url));
const Ready = z.object({ msg: z.literal("job service is ready"), address: z.string() });

/** The result of a command that has ended. */
export type Ran = { code: number | null; stdout: string; stderr: string };

/**
 * A folder with settings and a git repository, and the real program on it, in processes of its own.
 */
export class ServiceFolder implements AsyncDisposable {
  readonly dir: TempDir;
  /** The environment of the program. */
  readonly env: Record<string, string>;
  readonly #children: ServiceProcess[] = [];
  #settings: { containment?: string } = {};

  private constructor(dir: TempDir, env: Record<string, string>) {
    this.dir = dir;
    this.env = env;
  }

  /** Opens a folder with a project for each of `agents`, and the agent's command. */
  static async open(
    agents: Record<string, string[]>,
    env: Record<string, string> = {},
  ): Promise<ServiceFolder> {
    const folder = new ServiceFolder(await openTempDir(), env);
    const repository = folder.dir.file("docs-repository");
    mkdirSync(repository);
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=T", "-c", "user.email=t@example.com", ...args], {
        cwd: repository,
      });
    git("init", "--quiet", "--initial-branch=main");
    writeFileSync(join(repository, "README.md"), "# Docs\n");
    mkdirSync(join(repository, "docs"));
    writeFileSync(join(repository, "docs", "index.md"), "# Docs\n");
    git("add", ".");
    git("commit", "--quiet", "--message=Start");
    folder.configure({
      listen: { port: 0 },
      dataDir: "./data",
      stopGraceMinutes: 0,
      projects: Object.entries(agents).map(([id, command]) => ({
        id,
        repository: "./docs-repository",
        agent: { kind: "command", command },
        codeHost: { kind: "none" },
      })),
    });
    return folder;
  }

  configure(settings: object): void {
    this.#settings = settings;
    writeFileSync(this.dir.file("service.yml"), stringify(settings));
  }

  /** Changes some of the settings. */
  change(settings: object): void {
    this.configure({ ...this.#settings, ...settings });
  }

  /** Runs a command to its end. */
  async run(...args: string[]): Promise<Ran> {
    const child = this.#spawn(args);
    const code = await child.exit();
    return { code: typeof code === "number" ? code : null, stdout: child.stdout, stderr: child.stderr };
  }

  /** Starts the service and waits until it is ready. */
  async serve(...args: string[]): Promise<ServiceProcess> {
    this.#needSandbox();
    const child = this.#spawn(args);
    await child.wrote(/job service is ready/);
    return child;
  }

  /** Starts a command without waiting for it. */
  start(...args: string[]): ServiceProcess {
    if (args.length === 0) this.#needSandbox();
    return this.#spawn(args);
  }

  /** Starts the service in a process that ends itself at a commit. See `kill-at-commit.ts`. */
  serveAndDie(killAtCommit: string): ServiceProcess {
    this.#needSandbox();
    return this.#spawn([], { KILL_AT_COMMIT: killAtCommit });
  }

  /** Runs a command that ends itself at a commit. Resolves to false if it ended before that. */
  async runAndDie(killAtCommit: string, ...args: string[]): Promise<boolean> {
    return (await this.#spawn(args, { KILL_AT_COMMIT: killAtCommit }).exit()) === "SIGKILL";
  }

  /**
   * Leaves the test out without a sandbox, because the service then refuses to start, unless its
   * settings allow it.
   */
  #needSandbox(): void {
    if (this.#settings.containment !== "none") need("bubblewrap");
  }

  #spawn(args: string[], env: Record<string, string> = {}): ServiceProcess {
    const preload = new URL("./kill-at-commit.ts", import.meta.url).href;
    const options = "KILL_AT_COMMIT" in env ? ["--import", preload] : [];
    const child = new ServiceProcess(
      spawn(process.execPath, [...options, MAIN, ...args], {
        cwd: this.dir.path,
        env: {
          PATH: process.env["PATH"],
          NODE_COMPILE_CACHE: join(tmpdir(), "docs-agent-compile-cache"),
          ...this.env,
          ...env,
        },
        stdio: ["ignore", "pipe", "pipe"],
      }),
    );
    this.#children.push(child);
    return child;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) {
      // The first signal also stops the agents, which SIGKILL would leave behind.
      child.signal("SIGTERM");
      child.signal("SIGINT");
      await child.exit();
    }
    await this.dir[Symbol.asyncDispose]();
  }
}

/** The program, in a process of its own. */
export class ServiceProcess {
  readonly #child: ChildProcess;
  readonly #exited: Promise<number | NodeJS.Signals | null>;
  stdout = "";
  stderr = "";

  constructor(child: ChildProcess) {
    this.#child = child;
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (this.stdout += text));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    this.#exited = once(child, "close").then(() => child.exitCode ?? child.signalCode);
  }

  get hasExited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** The address that it listens on. It must be ready. */
  get url(): string {
    const line = this.stdout.split("\n").find((candidate) => candidate.includes("job service is ready"));
    return Ready.parse(JSON.parse(line ?? "")).address;
  }

  /** Resolves once the standard output matches. Rejects if the process ends before. */
  async wrote(what: RegExp): Promise<void> {
    while (!what.test(this.stdout)) {
      const { stdout } = this.#child;
      const next = await Promise.race([
        stdout === null ? "end" : once(stdout, "data").then(() => "data"),
        this.#exited.then(() => "end"),
      ]);
      if (next === "end" && !what.test(this.stdout)) {
        throw new Error(`The process ended before it wrote ${what}: ${this.stdout}${this.stderr}`);
      }
    }
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Closes the pipe to which it writes its output. */
  stopReading(): void {
    this.#child.stdout?.destroy();
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Resolves to the exit code, or to the signal that ended it. */
  async exit(): Promise<number | NodeJS.Signals | null> {
    return await this.#exited;
  }
}
