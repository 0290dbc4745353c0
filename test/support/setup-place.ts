import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createCodeHost } from "../../world/code-host/index.ts";
import { COMPILE_CACHE } from "./child-process.ts";
import { openTempDir } from "./temp-dir.ts";
import { startHttpSide } from "./turn-network.ts";
import { startSlackSide } from "./world.ts";

const MAIN = fileURLToPath(new URL("../../src/setup/main.ts", import.meta.url));
const AGENT = fileURLToPath(new URL("../fixtures/agents/acp-agent.mjs", import.meta.url));
/** The code host's token. */
export const SETUP_TOKEN = "code-host-token-0123456789";
/** The model's key. */
export const SETUP_KEY = "sk-ant-key-of-a-model-0123456789";
/** Creates apps in Slack. */
export const CONFIG_TOKEN = "xoxe.xoxp-1-configuration-0123456789";

/** `npm run setup`, running. */
export class SetupProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  stdout = "";
  stderr = "";

  constructor(child: ChildProcess) {
    this.#child = child;
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (this.stdout += text));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    this.#ended = once(child, "close");
  }

  /** Resolves once the standard output matches. Rejects if the process ends before. */
  async wrote(what: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = what.exec(this.stdout);
      if (match !== null) return match;
      const { stdout } = this.#child;
      const next = await Promise.race([
        stdout === null ? null : once(stdout, "data"),
        this.#ended.then(() => null),
      ]);
      if (next === null && !what.test(this.stdout)) {
        throw new Error(`It ended before it wrote ${what}: ${this.stdout}${this.stderr}`);
      }
    }
  }

  /** The page's address. */
  async page(): Promise<string> {
    return (await this.wrote(/Open (http:\S+)/))[1] ?? "";
  }

  /** Types a line, as in a terminal. */
  type(line: string): void {
    this.press(`${line}\n`);
  }

  /** Types these characters. */
  press(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  async exit(): Promise<number | null> {
    await this.#ended;
    return this.#child.exitCode;
  }

  /** Ctrl-C. */
  async stop(): Promise<void> {
    this.#child.kill("SIGINT");
    await this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.stop();
  }
}

/**
 * A clean folder on a machine with an agent, and all that a setup asks: Slack, with the apps of
 * `manifests`, a code host and a
 * model.
 */
export async function openSetupPlace(manifests: Record<string, Record<string, unknown>> = {}) {
  const stack = new AsyncDisposableStack();
  const dir = stack.use(await openTempDir());
  const slack = stack.use(await startSlackSide({ configToken: CONFIG_TOKEN, manifests }));
  const sample = dir.file("sample");
  mkdirSync(join(sample, "docs"), { recursive: true });
  writeFileSync(join(sample, "README.md"), "# Docs\n\nTeh first line.\n");
  writeFileSync(join(sample, "docs.json"), "{}\n");
  const codeHost = stack.use(await createCodeHost({ dataDir: dir.file("host"), tokens: [SETUP_TOKEN] }));
  await codeHost.createRepository("acme", "docs", sample);
  const model = stack.use(
    await startHttpSide(({ headers }, _, response) => {
      const isKnown = headers["x-api-key"] === SETUP_KEY;
      response.writeHead(isKnown ? 200 : 401, { "content-type": "application/json" });
      response.end(JSON.stringify(isKnown ? { data: [], has_more: false } : { type: "error", error: {} }));
    }),
  );
  mkdirSync(dir.file("bin"));
  const script = JSON.stringify([
    { write: "README.md", content: "# Docs\n\nThe first line.\n" },
    { say: "Fixed a typo." },
  ]);
  const agent = readFileSync(AGENT, "utf8").replace('process.argv[2] ?? "[]"', JSON.stringify(script));
  writeFileSync(dir.file("bin/opencode"), `#!/usr/bin/env node\n${agent}`);
  chmodSync(dir.file("bin/opencode"), 0o755);
  const folder = dir.file("clone");
  mkdirSync(folder);

  const env = {
    PATH: `${dir.file("bin")}:${dirname(process.execPath)}:${process.env["PATH"]}`,
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    SLACK_API_URL: slack.apiUrl,
    PULL_REQUEST_HTTP_ORIGINS: codeHost.url,
    POLL_MIN_MS: "100",
  };
  const around = ["--code-host-url", codeHost.apiUrl, "--model-url", model.url];
  const commandOf = (args: string[]) => ["--disable-warning=ExperimentalWarning", MAIN, ...around, ...args];
  const run = (program: string, ...args: string[]) => {
    const child = spawn(program, args, { cwd: folder, env, stdio: ["pipe", "pipe", "pipe"] });
    return stack.use(new SetupProcess(child));
  };
  return {
    slack,
    /** Of a setup. */
    env,
    codeHost,
    model,
    /** The agent's program. */
    agent: dir.file("bin/opencode"),
    folder,
    repository: `${codeHost.url}/acme/docs`,
    start(...args: string[]): SetupProcess {
      return run(process.execPath, ...commandOf(args));
    },
    /** Starts it in a terminal of its own, which needs bsdutils. */
    startInTerminal(...args: string[]): SetupProcess {
      const command = [process.execPath, ...commandOf(args)].map((word) => `'${word}'`).join(" ");
      return run("script", "--quiet", "--return", "--command", command, "/dev/null");
    },
    /** Every file that the setup wrote: its name, rights and text. */
    written(): { name: string; mode: number; text: string }[] {
      return ["clone", "docs-agent-data/logs"].flatMap((place) => {
        const names = readdirSync(dir.path).includes(place.split("/")[0] ?? "")
          ? readdirSync(dir.file(place))
          : [];
        return names.flatMap((name) => {
          const path = dir.file(`${place}/${name}`);
          if (statSync(path).isDirectory()) return [];
          return [{ name, mode: statSync(path).mode & 0o777, text: readFileSync(path, "utf8") }];
        });
      });
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
