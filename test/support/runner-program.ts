import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { DoctorFinding } from "../../src/service/cli/finding.ts";
import { COMPILE_CACHE } from "./child-process.ts";
import { type Ran, ServiceProcess } from "./service-process.ts";
import { openTempDir, type TempDir } from "./temp-dir.ts";

const MAIN = fileURLToPath(new URL("../../src/service/runner/program/main.ts", import.meta.url));
const Checked = z.object({ ok: z.boolean(), findings: z.array(z.custom<DoctorFinding>()) });

/** A runner elsewhere: a folder, an environment, and its real program in processes of its own. */
export class RunnerPlace implements AsyncDisposable {
  readonly dir: TempDir;
  /** All that the program has of the environment, beside what is in `.env`. */
  readonly env: Record<string, string>;
  readonly #children: ServiceProcess[] = [];

  private constructor(dir: TempDir, env: Record<string, string>) {
    this.dir = dir;
    this.env = env;
  }

  /** Opens a folder whose `.env` has the two lines that `runners add` prints. */
  static async open(added: string, env: Record<string, string> = {}): Promise<RunnerPlace> {
    const place = new RunnerPlace(await openTempDir(), env);
    writeFileSync(place.dir.file(".env"), added.replaceAll(/^(?!RUNNER_).*$/gm, ""));
    mkdirSync(place.dir.file("home"));
    return place;
  }

  /** Starts the program. */
  start(args: readonly string[] = [], env: Record<string, string> = {}): ServiceProcess {
    const child = new ServiceProcess(
      spawn(process.execPath, ["--disable-warning=ExperimentalWarning", MAIN, ...args], {
        cwd: this.dir.path,
        env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: COMPILE_CACHE, ...this.env, ...env },
        stdio: ["ignore", "pipe", "pipe"],
      }),
    );
    this.#children.push(child);
    return child;
  }

  /** Runs it to its end. */
  async run(args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
    const child = this.start(args, env);
    const code = await child.exit();
    return { code: typeof code === "number" ? code : null, stdout: child.stdout, stderr: child.stderr };
  }

  /** What `--check --json` says. */
  async check(env: Record<string, string> = {}) {
    const { code, stdout, stderr } = await this.run(["--check", "--json"], env);
    if (stdout === "") throw new Error(stderr);
    return { code, ...Checked.parse(JSON.parse(stdout)) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) {
      child.signal("SIGTERM");
      child.signal("SIGINT");
      await child.exit();
    }
    await this.dir[Symbol.asyncDispose]();
  }
}
