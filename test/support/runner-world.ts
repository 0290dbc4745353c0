import { docsOn } from "./docs-on-code-host.ts";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cp, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { JobDiff } from "../../src/shared/contract/diff.ts";
import { type CodeHostFault, createCodeHost } from "../../world/code-host/index.ts";
import type { Clock } from "../../src/shared/machine/ports.ts";
import type { ServiceProject } from "../../src/service/config/config.ts";
import { NoteFiles } from "../../src/service/jobs/note-files.ts";
import { ReaderProcesses } from "../../src/service/runner/process/apart/apart.ts";
import { LocalRunner } from "../../src/service/runner/local/local-runner.ts";
import type {
  CloseResult,
  RunTurnInput,
  RunTurnResult,
  RunnerReport,
} from "../../src/service/runner/runner.ts";
import { createSystemClock } from "../../src/shared/machine/clock-and-log.ts";
import { commitTo } from "./commit-to.ts";
import { need } from "./need.ts";
import { RecordingLogger } from "./recording-logger.ts";
import { repositoryOf } from "./repository-of.ts";
import { makeServiceProject } from "./service-project.ts";
import { openTempDir } from "./temp-dir.ts";

const exec = promisify(execFile);
const AGENTS = fileURLToPath(new URL("../fixtures/agents/", import.meta.url));

/** The files of the repository at the start. */
export const START_FILES: Record<string, string> = {
  "README.md": "# Acme\n\nTeh product.\n",
  "docs/quickstart.md": "# Quickstart\n\nInstal it.\n",
  "docs/.gitignore": "drafts/\n",
  "src/index.js": "console.log(1);\n",
  ".github/workflows/ci.yml": "on: push\n",
};

/** Returns the command of an agent in test/fixtures/agents, run by this Node. */
export function fixtureAgent(name: string, ...args: string[]): string[] {
  return [process.execPath, join(AGENTS, name), ...args];
}

/** Returns the command of an agent that is a JavaScript program. */
export function inlineAgent(source: string): string[] {
  return [process.execPath, "--input-type=module", "-e", `import * as fs from "node:fs"; ${source}`];
}

type WorldOptions = {
  files?: Record<string, string | Buffer>;
  clock?: Clock;
  containment?: "required" | "none";
  /**
   * The way in which projects reach their repository. A folder is faster, for tests that aren't
   * about git over HTTP.
   */
  remote?: "http" | "folder";
  readers?: ReaderProcesses;
};

/**
 * For tests of a turn's decisions, which depend neither on the agent nor on the place of the
 * repository: no sandbox, and a folder as remote.
 */
export const LOGIC_ONLY = { containment: "none", remote: "folder" } as const;

type Earlier = { prompt: string; words?: string | null; summary: string | null };
type Run = Partial<Omit<RunTurnInput, "earlierTurns" | "report" | "notes" | "lease">> & {
  earlierTurns?: Earlier[];
  onLine?: (line: string) => unknown;
};

/** A test's influence on one kind of the code host's traffic. */
type Side = {
  /** Awaited before a request is served. */
  before: ((request: string) => Promise<void>) | undefined;
  fault: ((request: string) => CodeHostFault | undefined) | undefined;
};

/**
 * Shared by all runners of this test process, because each reader's process takes a while to start.
 */
const sharedReaders = new ReaderProcesses();

/** Opens a code host with one repository, behind real git over HTTP and its API, and a runner. */
export async function openRunnerWorld({
  files = START_FILES,
  clock,
  containment = "required",
  remote = "http",
  readers = sharedReaders,
}: WorldOptions = {}) {
  if (containment === "required") need("bubblewrap");
  const stack = new AsyncDisposableStack();
  const dir = stack.use(await openTempDir());
  // Only this world has the token. Wherever it turns up, no other test has put it there.
  const token = `ghp_${randomBytes(16).toString("hex")}`;
  const modelKey = `model-key-0${randomBytes(8).toString("hex")}`;
  const bare = dir.file("code-host/repositories/acme/docs.git");
  const git = (...args: string[]) =>
    exec("git", ["-c", "safe.directory=*", ...args], {
      env: {
        PATH: process.env["PATH"],
        HOME: dir.path,
        GIT_CONFIG_NOSYSTEM: "1",
        GIT_AUTHOR_NAME: "Ana",
        GIT_AUTHOR_EMAIL: "ana@example.com",
        GIT_COMMITTER_NAME: "Ana",
        GIT_COMMITTER_EMAIL: "ana@example.com",
      },
    }).then(({ stdout }) => stdout.trim());
  const inBare = (...args: string[]) => git("-C", bare, ...args);

  await cp(await repositoryOf(files), bare, { recursive: true });
  const codeHost = stack.use(
    await createCodeHost({
      dataDir: dir.file("code-host"),
      tokens: [token],
      searchPath: process.env["PATH"],
    }),
  );
  const gitHttp: Side = { before: undefined, fault: undefined };
  const api: Side = { before: undefined, fault: undefined };
  const sideOf = (request: string) => (request.includes(".git/") ? gitHttp : api);
  codeHost.traffic.before = async (request) => sideOf(request).before?.(request);
  codeHost.traffic.fault = (request) => sideOf(request).fault?.(request);
  const logger = new RecordingLogger();
  const progress: string[] = [];
  const reports: RunnerReport[] = [];
  /** The newest pull request of each job. */
  const recorded = new Map<string, number>();
  const env: Record<string, string | undefined> = {
    PATH: process.env["PATH"],
    DOCS_TOKEN: token,
    MODEL_KEY: modelKey,
    UNRELATED_SECRET: "nobody-should-see-this",
  };

  function newRunner() {
    return new LocalRunner({
      dataDir: dir.file("data"),
      env,
      logger,
      clock: clock ?? createSystemClock(),
      containment,
      readers,
    });
  }

  let current = newRunner();
  const noteFiles = new NoteFiles(dir.file("data"));
  const world = {
    dir,
    token,
    modelKey,
    bare,
    git,
    inBare,
    codeHost,
    gitHttp,
    api,
    pulls: () => codeHost.pullRequests("acme", "docs"),
    logger,
    progress,
    /** Returns everything of one kind that turns have reported, in order. */
    told: <Kind extends keyof RunnerReport>(kind: Kind): NonNullable<RunnerReport[Kind]>[] =>
      reports.flatMap(({ [kind]: value }) => (value === undefined ? [] : [value])),
    env,
    /** Commits files on top of a branch, as another person would. */
    commitTo: (branch: string, contents: Record<string, string>, message: string) =>
      commitTo(bare, branch, contents, { message }),
    /** Starts again, as after a crash of the process. */
    restart() {
      current = newRunner();
    },
    /** Has the runner do its hourly work for these projects, as the service would. */
    async upkeep(projects: ServiceProject[], unfinished: ReadonlySet<string> = new Set()): Promise<void> {
      await noteFiles.removeOld(unfinished, (clock ?? createSystemClock()).now());
      await current.upkeep({ projects, unfinished, signal: new AbortController().signal });
    },
    /** Has the runner read a job's change, as the service would. */
    diff(head: string | null = null, project?: ServiceProject): Promise<JobDiff | null> {
      const { signal } = new AbortController();
      const jobId = "job1";
      const notes = noteFiles.of(jobId);
      return current.readDiff({ project: project ?? world.project(["true"]), jobId, head, notes, signal });
    },
    /** Has the runner close a pull request, as the service would after a press of **Close it**. */
    close(number: number, project?: ServiceProject): Promise<CloseResult> {
      const { signal } = new AbortController();
      return current.closePull({
        project: project ?? world.project(["true"]),
        jobId: "job1",
        number,
        notes: noteFiles.of("job1"),
        signal,
      });
    },
    /** Calls the API about a pull request, as a person. */
    async asPerson(method: "PATCH" | "POST" | "PUT", path: string, body: object): Promise<void> {
      const answer = await fetch(`${codeHost.apiUrl}/repos/acme/docs/pulls${path && `/${path}`}`, {
        method,
        headers: { authorization: `token ${token}`, "content-type": "application/json" },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(10_000),
      });
      if (!answer.ok) throw new Error(`The code host refused: ${await answer.text()}`);
    },
    project(command: string[], changes: Partial<ServiceProject> = {}): ServiceProject {
      return makeServiceProject({
        repository: remote === "http" ? codeHost.gitUrl("acme", "docs") : bare,
        docs: ["**/*.md", "docs/**"],
        agent: {
          kind: "command",
          command,
          timeLimitMinutes: 1,
          maxOutputBytes: 1024 * 1024,
          terminal: false,
          readable: [AGENTS],
          styleGuide: [],
          limits: { memoryMegabytes: 4096, processes: 512, diskMegabytes: 2048 },
        },
        codeHost: { ...docsOn(codeHost).codeHost, tokenEnv: "DOCS_TOKEN", pollSeconds: 60 },
        agentEnv: ["MODEL_KEY"],
        ...changes,
      });
    },
    acpProject(
      command: string[],
      agent: Partial<ServiceProject["agent"] & { kind: "acp" }> = {},
    ): ServiceProject {
      return world.project(command, {
        agent: {
          kind: "acp",
          command,
          timeLimitMinutes: 1,
          maxOutputBytes: 1024 * 1024,
          terminal: false,
          readable: [AGENTS],
          styleGuide: [],
          limits: { memoryMegabytes: 4096, processes: 512, diskMegabytes: 2048 },
          permissions: "policy",
          startSeconds: 60,
          answerTimeLimitMinutes: 60,
          ...agent,
        },
      });
    },
    /** Runs a turn. By default, a person typed all of its prompt. */
    async run(
      project: ServiceProject,
      { earlierTurns = [], onLine, ...input }: Run = {},
    ): Promise<RunTurnResult> {
      const { jobId = "job1", prompt = "Fix the typo" } = input;
      const runner = current;
      try {
        const result = await runner.run({
          jobId,
          number: earlierTurns.length + 1,
          kind: "message",
          prompt,
          words: prompt,
          requester: null,
          acceptedAt: Date.now(),
          // The job's record has the same value, if nothing went wrong.
          pullRequest: recorded.get(jobId) ?? null,
          closedSeenAt: null,
          authors: null,
          attachments: [],
          earlierTurns: earlierTurns.map((turn) => ({
            kind: "message" as const,
            words: turn.prompt,
            authors: null,
            outcome: "pull-request" as const,
            ...turn,
          })),
          project,
          usedBefore: null,
          notes: noteFiles.of(jobId),
          signal: new AbortController().signal,
          report: (each) => {
            reports.push(each);
            for (const line of each.lines ?? []) {
              progress.push(line);
              onLine?.(line);
            }
          },
          ask: async () => null,
          ...input,
        });
        if (result.kind === "pull-request" && result.pullRequest) {
          recorded.set(jobId, result.pullRequest.number);
        }
        return result;
      } finally {
        await runner.settled();
      }
    },
    /** Resolves to the paths that a branch changes, compared with its start. */
    async changed(branch = "docs-agent/job1", from = "main"): Promise<string[]> {
      const names = await inBare("diff", "--name-only", `${from}...${branch}`);
      return names === "" ? [] : names.split("\n").toSorted();
    },
    commits: (branch = "docs-agent/job1") => inBare("rev-list", "--count", `main..${branch}`).then(Number),
    show: (path: string, branch = "docs-agent/job1") => inBare("show", `${branch}:${path}`),
    branches: () =>
      inBare("for-each-ref", "--format=%(refname:short)", "refs/heads").then((text) => text.split("\n")),
    /** Resolves to everything about the turn that a person could read. */
    async said(result: unknown): Promise<string> {
      const log = await inBare("log", "--all", "--format=%B%an%ae");
      return JSON.stringify([result, progress, logger.lines, world.pulls(), log]);
    },
    /** Resolves to all regular files under the data folder, as one text. */
    async stored(): Promise<string> {
      const names = await readdir(dir.file("data"), { recursive: true, withFileTypes: true });
      const texts = names
        .filter((entry) => entry.isFile() && !entry.parentPath.includes("/objects"))
        .map((entry) => readFile(join(entry.parentPath, entry.name), "utf8"));
      return (await Promise.all(texts)).join("\n");
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
  return world;
}
