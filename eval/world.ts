import { randomBytes } from "node:crypto";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { stringify } from "yaml";
import { z } from "zod";
import { createCodeHost } from "../world/code-host/index.ts";
import { createManagedProcess } from "../world/managed-process.ts";
import { doCommand } from "../src/service/commands/command-socket.ts";
import { loadServiceConfig } from "../src/service/config/config.ts";
import { createHttpJobService } from "../src/app/job-client/http-job-service.ts";
import type { JobService } from "../src/app/rules/ports/job-service.ts";
import { createSystemClock } from "../src/shared/machine/clock-and-log.ts";
import { joinedClaims } from "../src/service/runner/publish/checked-claim.ts";
import { numberIn } from "../src/service/runner/publish/earlier-push.ts";
import { NoteFiles } from "../src/service/jobs/note-files.ts";
import { readAnswerSources, readTurnNote } from "../src/service/runner/publish/turn-note.ts";
import { type Files, readFiles, writeFiles } from "./files.ts";
import { typedWords } from "./person.ts";
import type { ProjectSettings } from "./project-options.ts";
import type { NamedClaim } from "./rules/solved.ts";
import { EvalOptionError, type EvalSettings } from "./settings.ts";
import { type Task, TaskError } from "./task.ts";

const run = promisify(execFile);
const SERVICE = fileURLToPath(new URL("../src/service/main.ts", import.meta.url));
const OWNER = "eval";
const TOKEN_ENV = "EVAL_CODE_HOST_TOKEN";
const CALL_TIMEOUT_MS = 30_000;
const CLONE_TIMEOUT_MS = 120_000;
const Ready = z.object({ address: z.string() });

/** The job service and its code host, with one project for each task. */
export type World = AsyncDisposable & {
  of(task: string): JobService;
  /** The files on the branch that a turn pushed. */
  filesOn(task: string, branch: string): Promise<Files>;
  /**
   * The sources that the agent named in a job's turns with a commit, and in this one. Null if it
   * named none.
   */
  claimsOf(jobId: string, turn: number): Promise<NamedClaim[] | null>;
};

/**
 * Starts both on this machine. The folder `state` keeps what they know, so that a killed evaluation
 * goes on with the jobs that it had begun. The port has to be the same then, because it is in the
 * addresses of repositories. Rejects with a `ProcessNotReadyError` that says why the service didn't
 * start.
 */
export async function openWorld(
  tasks: readonly Task[],
  settings: EvalSettings,
  given: ProjectSettings,
  { state, port, logFile }: { state: string; port: number; logFile: string },
): Promise<World> {
  await using starting = new AsyncDisposableStack();
  const token = randomBytes(24).toString("hex");
  const codeHost = starting.use(
    await createCodeHost({ dataDir: join(state, "code-host"), tokens: [token], port }).catch(portTaken),
  );
  for (const { name, base, contexts } of tasks) {
    await addRepository(name, base);
    for (const [context, files] of contexts) await addRepository(`${name}.${context}`, files);
  }
  async function addRepository(name: string, files: Files): Promise<void> {
    // In a public repository, the requester would have to allow quoted words, and nobody is there.
    codeHost.rules.privateRepositories.add(`${OWNER}/${name}`);
    const folder = await mkdtemp(join(tmpdir(), "eval-repository-"));
    try {
      await writeFiles(folder, files);
      await codeHost.createRepository(OWNER, name, folder);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  const configFile = join(state, "service.yml");
  const config = {
    listen: { host: "127.0.0.1", port: 0 },
    dataDir: join(state, "service"),
    stopGraceMinutes: 0,
    jobsAtOnce: settings.atOnce,
    models: settings.models,
    projects: tasks.map((task) => ({
      id: task.name,
      repository: codeHost.gitUrl(OWNER, task.name),
      ...(task.docs === undefined ? {} : { docs: task.docs }),
      agent: {
        preset: settings.preset,
        ...(settings.model === null ? {} : { model: settings.model }),
        timeLimitMinutes: settings.timeLimitMinutes,
        // An agent that asks first, such as claude, can't remove or move a page without it.
        terminal: true,
        briefFile: given.briefFile,
        ...(given.instructions === null ? {} : { instructions: given.instructions }),
        styleGuide: given.styleGuide,
        permissions: given.asks ? "ask" : "policy",
      },
      verify: given.verify,
      context: [...task.contexts.keys()].map((name) => ({
        name,
        repository: codeHost.gitUrl(OWNER, `${task.name}.${name}`),
      })),
      budget: turnBudget(settings, task),
      limits: { jobsAtOnce: Math.min(settings.atOnce, 100), createsPerHour: 100_000 },
      codeHost: {
        kind: "github",
        apiUrl: codeHost.apiUrl,
        owner: OWNER,
        repo: task.name,
        tokenEnv: TOKEN_ENV,
      },
    })),
  };
  await writeFile(configFile, stringify(config));
  const service = starting.use(
    createManagedProcess({
      name: "The job service",
      args: [SERVICE, "serve", "--config", configFile],
      env: { ...settings.env, [TOKEN_ENV]: token },
      logFile,
      isReadyLine: (line) => line.includes("job service is ready"),
    }),
  );
  const { address } = Ready.parse(JSON.parse(await service.start()));
  const keys = await keysFor(configFile, tasks);
  const clients = new Map(
    tasks.map(({ name }) => {
      const baseUrl = address.startsWith("http") ? address : `http://${address}`;
      const apiKey = keys.get(name) ?? "";
      const client = createHttpJobService({ baseUrl, projectId: name, apiKey, timeoutMs: CALL_TIMEOUT_MS });
      starting.defer(() => client.close());
      return [name, client] as const;
    }),
  );
  const started = starting.move();
  return {
    of(task) {
      const client = clients.get(task);
      if (client === undefined) throw new TaskError(`There is no task ${task}.`);
      return client;
    },
    async filesOn(task, branch) {
      const folder = await mkdtemp(join(tmpdir(), "eval-result-"));
      try {
        // A link becomes a file with its target as text, so that nothing here follows it.
        const flags = ["-c", "core.symlinks=false", "-c", "core.autocrlf=false"];
        const what = ["clone", "--quiet", "--depth=1", "--branch", branch, codeHost.gitUrl(OWNER, task)];
        await run("git", [...flags, ...what, folder], { timeout: CLONE_TIMEOUT_MS, env: settings.env });
        return await readFiles(folder);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
    async claimsOf(jobId, turn) {
      const notes = new NoteFiles(join(state, "service")).of(jobId);
      const [note, answer] = [await readTurnNote(notes), await readAnswerSources(notes)];
      const answered = answer !== null && numberIn(answer.turnKey) === turn ? answer.claims : [];
      const earlier = note?.earlier.map(({ claims }) => claims) ?? [];
      const joined = joinedClaims([...earlier, note?.claims ?? [], answered]);
      return joined.length === 0 ? null : joined;
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** What one turn may use, so that all turns of a run stay within what the run may use. */
function turnBudget({ budget }: EvalSettings, task: Task): EvalSettings["budget"] {
  const turns = typedWords(task).length;
  return "usd" in budget
    ? { usd: budget.usd / turns }
    : { tokens: Math.max(1, Math.floor(budget.tokens / turns)) };
}

function portTaken(error: unknown): never {
  if (!(error instanceof Error && "code" in error && error.code === "EADDRINUSE")) throw error;
  throw new EvalOptionError(
    "The address of this evaluation's repositories is in use. If it runs already, wait for it, or " +
      "name another folder with --out.",
  );
}

/** Makes new keys at each start, because only the evaluation uses them. */
async function keysFor(configFile: string, tasks: readonly Task[]): Promise<Map<string, string>> {
  const config = loadServiceConfig(configFile, null);
  const clock = createSystemClock();
  const keys = new Map<string, string>();
  for (const { name } of tasks) {
    const { text } = await doCommand(config, clock, { name: "create-key", project: name });
    keys.set(name, text.trim());
  }
  return keys;
}

/** Makes the folder with which a killed evaluation goes on. */
export async function makeState(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
}
