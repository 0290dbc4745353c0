import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { chmod, lstat, mkdir, readdir, readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { z } from "zod";
import type { Logger } from "../../../shared/machine/ports.ts";
import { json } from "../../base/json.ts";
import { SOCKETS_FOLDER } from "../../network/limits.ts";
import { allPids, killGroup, processStat } from "./process-group.ts";

/** The folders that the runner uses. Agents only get to `worktrees/<job>`. */
export type RunnerFolders = Awaited<ReturnType<typeof openRunnerFolders>>;

/**
 * The new, empty folders of one turn. `job` contains those of the agent, which can't reach
 * `scratch`.
 */
export type TurnFolders = { job: string; tree: string; home: string; tmp: string; scratch: string };

/**
 * The process group that runs for a job, and when it started. A process id alone may belong to
 * another process by now.
 */
const RunningAgent = z.object({ pid: z.int().min(2), startedAt: z.string() });

const REMOVE_TIME_LIMIT_MS = 120_000;
const run = promisify(execFile);

/** Creates the runner's folders under `dataDir` and returns their real paths. */
export async function openRunnerFolders(dataDir: string) {
  await mkdir(dataDir, { recursive: true });
  // It contains prompts.
  await chmod(dataDir, 0o700);
  const root = await realpath(dataDir);
  const folders = {
    mirrors: join(root, "mirrors"),
    worktrees: join(root, "worktrees"),
    /** Trees that ended turns of this process left for later ones. */
    trees: join(root, "trees"),
    scratch: join(root, "scratch"),
    agents: join(root, "agents"),
    /** What an earlier process left, until it is removed. */
    trash: join(root, "trash"),
    /** What agents left for the next turn of their job. */
    sessions: join(root, "sessions"),
    /** The files that sandboxes need. */
    sandbox: join(root, "sandbox"),
    /** For the agents' networks. The name is short, because a socket's path mustn't be long. */
    sockets: join(root, SOCKETS_FOLDER),
    /** An empty `HOME` for git. */
    gitHome: join(root, "git-home"),
  };
  for (const folder of Object.values(folders)) await mkdir(folder, { recursive: true, mode: 0o700 });
  return folders;
}

/** Used in place of a job's id for the runner itself. */
export const RUNNER = ".runner";

/**
 * Ends what an earlier process left: the process itself if it is still running, and what it
 * started. Moves its worktrees out of the way, because removing them may take minutes. Resolves to
 * a function that removes them, which never rejects.
 */
export async function sweep(folders: RunnerFolders, logger: Logger): Promise<() => Promise<void>> {
  await killLeftover(folders, `${RUNNER}.json`);
  for (const name of await readdir(folders.agents)) await killLeftover(folders, name);
  await killStrays(folders);
  for (const folder of [folders.worktrees, folders.trees, folders.scratch, folders.sockets]) {
    for (const name of await readdir(folder)) await discard(join(folder, name), folders.trash);
  }
  return async () => {
    // What an earlier start didn't get done is there, too, and the next one tries what fails now.
    for (const name of await readdir(folders.trash).catch(() => []))
      await removeFolder(join(folders.trash, name)).catch((err: unknown) =>
        logger.warn({ err }, "a folder of an ended turn could not be removed; the next start tries again"),
      );
  };
}

/**
 * Moves something of ours to the trash, which is emptied later, because to remove it may take
 * minutes.
 */
export async function discard(path: string, trash: string): Promise<void> {
  // Moving a folder needs the right to write to it.
  await chmod(path, 0o700).catch(() => {});
  // A folder on a disk of its own can't be moved here.
  await rename(path, join(trash, randomUUID())).catch(() => removeFolder(path));
}

/** Creates empty folders for a turn of the job, and removes what an earlier run left there. */
export async function openTurnFolders(folders: RunnerFolders, jobId: string): Promise<TurnFolders> {
  const job = join(folders.worktrees, jobId);
  await removeFolder(job);
  const scratch = join(folders.scratch, `${jobId}-${randomUUID()}`);
  const made = { job, tree: join(job, "tree"), home: join(job, "home"), tmp: join(job, "tmp"), scratch };
  for (const folder of Object.values(made)) await mkdir(folder, { recursive: true, mode: 0o700 });
  return made;
}

/** Notes the agent's process group for {@link sweep}. */
export async function noteAgent(folders: RunnerFolders, jobId: string, pid: number): Promise<void> {
  const stat = await processStat(pid);
  if (stat === null) return;
  const agent: z.infer<typeof RunningAgent> = { pid, startedAt: stat.startedAt };
  await writeFile(join(folders.agents, `${jobId}.json`), JSON.stringify(agent), { mode: 0o600 });
}

export async function forgetAgent(folders: RunnerFolders, jobId: string): Promise<void> {
  await rm(join(folders.agents, `${jobId}.json`), { force: true });
}

/**
 * Removes the session that a job's agent left for its later turns. None may run or begin meanwhile.
 * Safe to repeat.
 */
export async function removeSessionOf(dataDir: string, jobId: string): Promise<void> {
  // A session without its folder isn't found again. Its own note has nothing that anybody wrote.
  await removeFolder(join(dataDir, "sessions", jobId, "home"));
}

async function killLeftover(folders: RunnerFolders, name: string): Promise<void> {
  const file = join(folders.agents, name);
  const text = await readFile(file, "utf8").catch(() => "null");
  // If it was only half written, it tells nothing.
  const agent = json(RunningAgent).safeParse(text).data;
  if (agent && (await processStat(agent.pid))?.startedAt === agent.startedAt) await killGroup(agent.pid);
  await rm(file, { force: true });
}

/**
 * Ends every git process in our mirrors, and every process whose `HOME` is an agent's. Their
 * process groups may not be known.
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
        // It has already ended.
      }
    }),
  );
}

/**
 * Removes a folder, whatever an agent has put there: folders without permissions, folders nested
 * deeper than a path can express, and any number of files.
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
