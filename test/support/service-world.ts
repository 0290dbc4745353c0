import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { stringify } from "yaml";
import { z } from "zod";
import { createHttpJobService } from "../../src/app/job-client/http-job-service.ts";
import type { TurnAct } from "../../src/shared/contract/turn.ts";
import { createCodeHost } from "../../world/code-host/index.ts";
import type { AppProcess, Program } from "./app-process.ts";
import { startHookedProxy } from "../../world/faults/hooked-proxy.ts";
import type { ProxyHook } from "../../world/faults/hooked-proxy.ts";
import { openTempDir } from "./temp-dir.ts";

const run = promisify(execFile);
const TOKEN = "code-host-token-0123456789";
const AGENTS = new URL("../fixtures/agents/", import.meta.url);
const ADDS_A_LINE = { kind: "command", command: [process.execPath, agentFile("call-and-edit")] };
const SERVICE = fileURLToPath(new URL("../../src/service/main.ts", import.meta.url));
const Pulls = z.array(z.object({ html_url: z.string() }));

/** Returns the path of an agent in `fixtures/agents` by its name. */
export function agentFile(name: string): string {
  return fileURLToPath(new URL(`${name}.mjs`, AGENTS));
}

/** What the surroundings of the service are like. */
export type Around = {
  /** As in the settings. @default it adds a line to the quickstart */
  agent?: { kind: string; command: string[]; permissions?: "ask" };
  /** True for a check, and labels on pull requests. @default false */
  isChecked?: boolean;
  /** @default a heading alone */
  quickstart?: string;
  /** Further settings of the project and of its code host. */
  settings?: { codeHost?: object; liveUrl?: string; verify?: object[] };
};

/**
 * Starts the surroundings of the real job service: a code host with a docs repository over real
 * git, which is reached through a proxy in which a test can act, an agent, a settings file, and a
 * key made on the command line.
 */
export async function startServiceWorld(
  hook: ProxyHook = async () => false,
  {
    agent = ADDS_A_LINE,
    isChecked = false,
    quickstart = "# Quickstart\n",
    settings: { codeHost: ofHost = {}, ...settings } = {},
  }: Around = {},
) {
  const resources = new AsyncDisposableStack();
  const dir = resources.use(await openTempDir());
  const docs = dir.file("sample/docs");
  await mkdir(docs, { recursive: true });
  await writeFile(`${docs}/quickstart.md`, quickstart);
  await mkdir(dir.file("sample/src"));
  await writeFile(dir.file("sample/src/cli.ts"), "export const options = ['--json'];\n");
  const codeHost = resources.use(await createCodeHost({ dataDir: dir.file("code-host"), tokens: [TOKEN] }));
  await codeHost.createRepository("acme", "docs", dir.file("sample"));
  const proxy = resources.use(await startHookedProxy(codeHost.url, hook));

  const config = dir.file("service.yml");
  const project = {
    id: "docs",
    repository: `${proxy.url}/acme/docs.git`,
    agent,
    agentEnv: ["AGENT_HOOK"],
    codeHost: {
      kind: "github",
      apiUrl: `${proxy.url}/api/v3`,
      owner: "acme",
      repo: "docs",
      tokenEnv: "TOKEN",
      ...ofHost,
    },
    ...settings,
    ...(isChecked && {
      verify: [
        {
          name: "todo",
          command: [process.execPath, agentFile("check-todo")],
          env: { CHECK_HOOK: `${proxy.url}/check-runs` },
        },
      ],
      pullRequests: { labels: ["docs"] },
    }),
  };
  const file = {
    listen: { host: "127.0.0.1", port: 0 },
    dataDir: dir.file("data"),
    stopGraceMinutes: 0.1,
    // The agent calls the proxy, so that a test can act while it runs.
    containment: "none",
    projects: [project],
  };
  await writeFile(config, stringify(file));
  const env = { PATH: process.env["PATH"], TOKEN, AGENT_HOOK: `${proxy.url}/agent-runs` };
  const args = [SERVICE, "keys", "create", "--project", "docs", "--config", config];
  const { stdout } = await run(process.execPath, args, { env });
  const apiKey = stdout.trim();
  const program: Program = {
    file: "src/service/main.ts",
    args: ["serve", "--config", config],
    readyMessage: "job service is ready",
  };

  async function withClient<T>(
    baseUrl: string,
    act: (client: ReturnType<typeof createHttpJobService>) => Promise<T>,
  ): Promise<T> {
    const client = createHttpJobService({ baseUrl, projectId: "docs", apiKey, timeoutMs: 20_000 });
    try {
      return await act(client);
    } finally {
      await client.close();
    }
  }

  async function read(baseUrl: string, jobId: string) {
    const answer = await withClient(baseUrl, (client) => client.getJob(jobId));
    return answer.ok ? answer.job : null;
  }

  /** Resolves to the job's status, its link, and the report of its newest turn. */
  async function report(baseUrl: string, jobId: string) {
    const answer = await withClient(baseUrl, (client) => client.getJob(jobId));
    if (!answer.ok) {
      return { status: null, prLink: null, turn: null, problem: answer.fault.message };
    }
    const { status, prLink } = answer.job;
    return { status, prLink, turn: answer.report?.turns?.at(-1) ?? null };
  }

  async function pullRequests(): Promise<number> {
    const pulls = await fetch(`${codeHost.apiUrl}/repos/acme/docs/pulls?state=all&per_page=100`);
    return Pulls.parse(await pulls.json()).length;
  }

  return {
    env,
    program,
    codeHost,
    /** The repository at the code host. */
    bare: dir.file("code-host/repositories/acme/docs.git"),
    settings: { dataDir: dir.file("data") },
    /** The address at which pull requests can be seen. */
    codeHostUrl: codeHost.url,
    /** Resolves to the number of pull requests at the code host. */
    pullRequests,
    /** The admin key of the project `docs`. */
    apiKey,
    read,
    report,
    /** Resolves to the new job's id, or to null without an answer. */
    async create(baseUrl: string): Promise<string | null> {
      const answer = await withClient(baseUrl, (client) => client.createJob("Add a line", "turn-1"));
      return answer.ok ? answer.job.id : null;
    },
    async message(baseUrl: string, jobId: string): Promise<void> {
      const answer = await withClient(baseUrl, (client) =>
        client.sendMessage(jobId, "And one more", "turn-2"),
      );
      if (!answer.ok) throw new Error(answer.fault.message);
    },
    /** Orders an act on the job's pull request. Resolves to false without an answer. */
    async act(baseUrl: string, jobId: string, act: TurnAct): Promise<boolean> {
      const answer = await withClient(baseUrl, (client) => client.act(jobId, act, "turn-2"));
      if (!answer.ok && answer.fault.kind !== "unknown" && answer.fault.kind !== "not-created") {
        throw new Error(answer.fault.message);
      }
      return answer.ok;
    },
    /** Resolves when the job or the process has ended. */
    async ended(baseUrl: string, jobId: string, service: AppProcess): Promise<void> {
      while (!service.hasExited) {
        const job = await read(baseUrl, jobId);
        if (job !== null && job.status !== "active") return;
        await sleep(50);
      }
    },
    /** Resolves to a page as it is on the branch of the only job. */
    async pageOfJob(path: string): Promise<string> {
      const bare = dir.file(`page-${Date.now()}`);
      await run("git", ["clone", "-q", "--mirror", codeHost.gitUrl("acme", "docs"), bare]);
      const refs = ["for-each-ref", "--format=%(refname)", "refs/heads/docs-agent"];
      const branch = (await run("git", ["-C", bare, ...refs])).stdout.trim();
      return (await run("git", ["-C", bare, "show", `${branch}:${path}`])).stdout;
    },
    /**
     * Resolves to every text that the service wrote at the code host: pull requests, branches and
     * commit messages.
     */
    async published(): Promise<{ pulls: { title: string; body: string }[]; refs: string; messages: string }> {
      const pulls = await fetch(`${codeHost.apiUrl}/repos/acme/docs/pulls?state=all&per_page=100`);
      const bare = dir.file(`texts-${Date.now()}`);
      await run("git", ["clone", "-q", "--mirror", codeHost.gitUrl("acme", "docs"), bare]);
      const git = async (...words: string[]) => (await run("git", ["-C", bare, ...words])).stdout.trim();
      return {
        pulls: z.array(z.object({ title: z.string(), body: z.string() })).parse(await pulls.json()),
        refs: await git("for-each-ref"),
        messages: await git("log", "--all", "--format=%B%an%ae%cn%ce"),
      };
    },
    /**
     * Returns the state at the code host: pull requests, branches, commits on the job's branch, and
     * the page there.
     */
    async atCodeHost(jobId: string) {
      const bare = dir.file(`look-${Date.now()}`);
      await run("git", ["clone", "-q", "--mirror", codeHost.gitUrl("acme", "docs"), bare]);
      const git = async (...words: string[]) => (await run("git", ["-C", bare, ...words])).stdout.trim();
      const branch = `docs-agent/${jobId}`;
      const branches = await git("for-each-ref", "--format=%(refname:short)", "refs/heads");
      return {
        pulls: await pullRequests(),
        branches: branches.split("\n").map((name) => name.replace(jobId, "<id>")),
        commits: (await git("log", "--oneline", `main..${branch}`)).split("\n").length,
        page: await git("show", `${branch}:docs/quickstart.md`),
      };
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}
