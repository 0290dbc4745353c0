import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { stringify } from "yaml";
import { createCodeHost } from "../../src/playground/code-host/index.ts";
import { createHttpJobService } from "../../src/job-service/http-job-service.ts";
import { AppProcess } from "../support/app-process.ts";
import type { Program } from "../support/app-process.ts";
import { startHookedProxy } from "../support/hooked-proxy.ts";
import { openTempDir } from "../support/temp-dir.ts";

const run = promisify(execFile);
const TOKEN = "code-host-token-0123456789";
const AGENT = fileURLToPath(new URL("../fixtures/agents/call-and-edit.mjs", import.meta.url));
const SERVICE = fileURLToPath(new URL("../../src/service/main.ts", import.meta.url));

/** Where the service dies: before its n-th commit, or around the n-th request that it, git or the agent sends. */
type Boundary = { at: "commit" | "request"; phase: "before" | "after"; number: number; what: string };
type Ending = { status: string; prLink: string | null; pulls: number; branches: string[]; commits: number };

/** One job, from create to its end, with the service killed at one boundary (null: at none) and started again. */
async function runWithDeath(
  boundary: Boundary | null,
  onStep: (step: Boundary) => void = () => {},
): Promise<Ending> {
  await using resources = new AsyncDisposableStack();
  const dir = resources.use(await openTempDir());
  const docs = dir.file("sample/docs");
  await mkdir(docs, { recursive: true });
  await writeFile(`${docs}/quickstart.md`, "# Quickstart\n");
  const codeHost = resources.use(await createCodeHost({ dataDir: dir.file("code-host"), tokens: [TOKEN] }));
  await codeHost.createRepository("acme", "docs", dir.file("sample"));

  let running: AppProcess | null = null;
  let requests = 0;
  async function onRequest(phase: "before" | "after", what: string): Promise<boolean> {
    if (phase === "before") requests += 1;
    onStep({ at: "request", phase, number: requests, what });
    if (boundary?.at !== "request" || boundary.phase !== phase || boundary.number !== requests) return false;
    await running?.kill();
    return true;
  }
  const proxy = resources.use(await startHookedProxy(codeHost.url, onRequest));

  const config = dir.file("service.yml");
  await writeFile(
    config,
    stringify({
      listen: { host: "127.0.0.1", port: 0 },
      dataDir: dir.file("data"),
      stopGraceMinutes: 0.1,
      projects: [
        {
          id: "docs",
          repository: `${proxy.url}/acme/docs.git`,
          agent: { kind: "command", command: [process.execPath, AGENT] },
          agentEnv: ["AGENT_HOOK"],
          codeHost: {
            kind: "github",
            apiUrl: `${proxy.url}/api/v3`,
            owner: "acme",
            repo: "docs",
            tokenEnv: "TOKEN",
          },
        },
      ],
    }),
  );
  const env = { PATH: process.env["PATH"], TOKEN, AGENT_HOOK: `${proxy.url}/agent-runs` };
  const { stdout } = await run(
    process.execPath,
    [SERVICE, "keys", "create", "--project", "docs", "--config", config],
    { env },
  );
  const apiKey = stdout.trim();
  const program: Program = {
    file: "src/service/main.ts",
    args: ["serve", "--config", config],
    readyMessage: "job service is ready",
  };

  const first = resources.use(
    new AppProcess({
      env,
      program,
      onCommit: ({ commit, isEmpty, sql }) => {
        if (!isEmpty) onStep({ at: "commit", phase: "before", number: commit, what: sql });
      },
      ...(boundary?.at === "commit" ? { killAtCommit: `${boundary.phase}:${boundary.number}` } : {}),
    }),
  );
  running = first;
  const firstUrl = await first.ready();
  let jobId = firstUrl === null ? null : await create(firstUrl, apiKey);
  let url = firstUrl;
  if (boundary !== null) {
    if (jobId !== null && firstUrl !== null) await ended(firstUrl, apiKey, jobId, first);
    expect(await first.exit()).toBe("SIGKILL");
    const second = resources.use(new AppProcess({ env, program }));
    running = second;
    url = await second.ready();
    // No answer came, so the client asks again, with the same idempotency key.
    jobId ??= await create(url ?? "", apiKey);
    await ended(url ?? "", apiKey, jobId ?? "", second);
  } else {
    await ended(url ?? "", apiKey, jobId ?? "", first);
  }
  const job = await read(url ?? "", apiKey, jobId ?? "");
  const pulls = await (await fetch(`${codeHost.apiUrl}/repos/acme/docs/pulls?state=all`)).json();
  const bare = dir.file("look");
  await run("git", ["clone", "-q", "--mirror", codeHost.gitUrl("acme", "docs"), bare]);
  const { stdout: refs } = await run("git", [
    "-C",
    bare,
    "for-each-ref",
    "--format=%(refname:short)",
    "refs/heads",
  ]);
  const branches = refs.trim().split("\n");
  const branch = branches.find((name) => name !== "main") ?? "main";
  const { stdout: log } = await run("git", ["-C", bare, "log", "--oneline", `main..${branch}`]);
  return {
    status: job?.status ?? "?",
    prLink: job?.prLink ?? null,
    pulls: Array.isArray(pulls) ? pulls.length : -1,
    branches: branches.map((name) => name.replace(jobId ?? "", "<id>")),
    commits: log.trim().split("\n").length,
  };
}

async function create(baseUrl: string, apiKey: string): Promise<string | null> {
  const client = createHttpJobService({ baseUrl, projectId: "docs", apiKey, timeoutMs: 20_000 });
  const answer = await client.createJob("Add a line to the quickstart", "turn-1");
  await client.close();
  return answer.ok ? answer.job.id : null;
}

async function read(baseUrl: string, apiKey: string, jobId: string) {
  const client = createHttpJobService({ baseUrl, projectId: "docs", apiKey, timeoutMs: 20_000 });
  const answer = await client.getJob(jobId);
  await client.close();
  return answer.ok ? answer.job : null;
}

/** Resolves when the job has ended, or the process. */
async function ended(baseUrl: string, apiKey: string, jobId: string, service: AppProcess): Promise<void> {
  while (!service.hasExited) {
    const job = await read(baseUrl, apiKey, jobId);
    if (job !== null && job.status !== "active") return;
    await sleep(50);
  }
}

const boundaries: Boundary[] = [];
const undisturbed = await runWithDeath(null, (step) => boundaries.push(step));

it("makes one branch and one pull request when nothing happens", () => {
  expect(undisturbed).toMatchObject({ status: "completed", pulls: 1, commits: 1 });
  expect(undisturbed.branches).toEqual(["docs-agent/<id>", "main"]);
  const whats = new Set(boundaries.map(({ what }) => what));
  expect(whats).toContain("POST /agent-runs");
  expect(whats).toContain("POST /acme/docs.git/git-receive-pack");
  expect(whats).toContain("POST /api/v3/repos/acme/docs/pulls");
});

it.concurrent.each(boundaries)(
  "killed $phase $at $number ($what): one branch, one pull request, the right status",
  { timeout: 120_000 },
  async (boundary) => {
    const ending = await runWithDeath(boundary);
    expect(ending).toMatchObject({ status: "completed", pulls: 1, commits: 1 });
    expect(ending.branches).toEqual(["docs-agent/<id>", "main"]);
    expect(ending.prLink).toMatch(/\/acme\/docs\/pull\/1$/);
  },
);
