import { execFile } from "node:child_process";
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import { SOCKETS_FOLDER } from "../gateway/limits.ts";
import { allPids, killGroup, processStat } from "./process-group.ts";

/** Where the runner keeps what. Only `worktrees/<job>` is ever an agent's. */
export type RunnerFolders = Awaited<ReturnType<typeof openRunnerFolders>>;

/**
 * The folders of one turn, made anew. `job` holds those of the agent; `scratch` is out of its
 * reach.
 */
export type TurnFolders = { job: string; tree: string; home: string; tmp: string; scratch: string };

/**
 * Which process group runs for a job, and when it started: a process id alone may be another's by
 * now.
 */
const RunningAgent = z.object({ pid: z.int().min(2), startedAt: z.string() });
type RunningAgent = z.infer<typeof RunningAgent>;

const REMOVE_TIME_LIMIT_MS = 120_000;
const run = promisify(execFile);

/** Makes the runner's folders under `dataDir` and returns their real paths. */
export async function openRunnerFolders(dataDir: string) {
  await mkdir(dataDir, { recursive: true });
  // Prompts are in there.
  await chmod(dataDir, 0o700);
  const root = await realpath(dataDir);
  const folders = {
    dataDir: root,
    mirrors: join(root, "mirrors"),
    worktrees: join(root, "worktrees"),
    scratch: join(root, "scratch"),
    notes: join(root, "turns"),
    agents: join(root, "agents"),
    /** What agents left for the next turn of their job. */
    sessions: join(root, "sessions"),
    /** What sandboxes are made of. */
    sandbox: join(root, "sandbox"),
    /** Of the agents' networks: short, because the path of a socket may not be long. */
    sockets: join(root, SOCKETS_FOLDER),
    /** Git's `HOME`, empty. */
    gitHome: join(root, "git-home"),
  };
  for (const folder of Object.values(folders)) await mkdir(folder, { recursive: true, mode: 0o700 });
  return folders;
}

/** In place of a job's id: the runner itself. */
export const RUNNER = ".runner";

/**
 * Ends and removes what an earlier process left: itself if it isn't gone yet, what it started, and
 * its worktrees.
 */
export async function sweep(folders: RunnerFolders): Promise<void> {
  await killLeftover(folders, `${RUNNER}.json`);
  for (const name of await readdir(folders.agents)) await killLeftover(folders, name);
  await killStrays(folders);
  for (const folder of [folders.worktrees, folders.scratch, folders.sockets]) {
    for (const name of await readdir(folder)) await removeFolder(join(folder, name));
  }
}

/** Empty folders for a turn of the job; what an earlier run left there is removed. */
export async function openTurnFolders(folders: RunnerFolders, jobId: string): Promise<TurnFolders> {
  const job = join(folders.worktrees, jobId);
  await removeFolder(job);
  const scratch = await mkdtemp(join(folders.scratch, `${jobId}-`));
  const made = {
    job,
    tree: join(job, "tree"),
    home: join(job, "home"),
    tmp: join(job, "tmp"),
    scratch,
  };
  for (const folder of Object.values(made)) await mkdir(folder, { recursive: true, mode: 0o700 });
  return made;
}

/** Notes the agent's process group for `sweep`. */
export async function noteAgent(folders: RunnerFolders, jobId: string, pid: number): Promise<void> {
  const stat = await processStat(pid);
  if (stat === null) return;
  const agent: RunningAgent = { pid, startedAt: stat.startedAt };
  await writeFile(join(folders.agents, `${jobId}.json`), JSON.stringify(agent), { mode: 0o600 });
}

export async function forgetAgent(folders: RunnerFolders, jobId: string): Promise<void> {
  await rm(join(folders.agents, `${jobId}.json`), { force: true });
}

async function killLeftover(folders: RunnerFolders, name: string): Promise<void> {
  const file = join(folders.agents, name);
  const text = await readFile(file, "utf8").catch(() => "null");
  try {
    const { pid, startedAt } = RunningAgent.parse(JSON.parse(text));
    if ((await processStat(pid))?.startedAt === startedAt) await killGroup(pid);
  } catch {
    // Half-written: nothing can be told from it.
  }
  await rm(file, { force: true });
}

/**
 * Ends each git that works in our mirrors, and what runs with a `HOME` of an agent: their own
 * groups may not be known.
 */
async function killStrays({ mirrors, worktrees }: RunnerFolders): Promise<void> {
  const isOurs = (variable: string) =>
    variable.startsWith(`GIT_DIR=${mirrors}/`) || variable.startsWith(`HOME=${worktrees}/`);
  await Promise.all(
    (await allPids()).map(async (pid) => {
      const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
      if (!environment.split("\0").some(isOurs)) return;
      try {
        process.kill(Number(pid), "SIGKILL");
      } catch {
        // It has ended by itself.
      }
    }),
  );
}

/**
 * Removes a folder with whatever an agent made of it: closed folders, ones nested deeper than a
 * path can say, and any number of files.
 */
export async function removeFolder(folder: string): Promise<void> {
  const options = { timeout: REMOVE_TIME_LIMIT_MS, env: { PATH: "/usr/bin:/bin" } };
  const remove = () => run("rm", ["-rf", "--", folder], options);
  if ((await lstat(folder).catch(() => null)) === null) return;
  await remove().catch(async () => {
    await run("chmod", ["-R", "u+rwx", "--", folder], options).catch(() => {});
    await remove();
  });
}
