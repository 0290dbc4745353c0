import { access, mkdir, mkdtemp } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { StartError } from "../../src/core/errors.ts";
import { AGENT_PRESETS } from "../config/agent-presets.ts";
import type { ServiceProject } from "../config/config.ts";
import type { Env } from "../config/env.ts";
import { runProgram } from "../runner/process-group.ts";
import { findProgram, interpreterOf, locate } from "../runner/sandbox/program.ts";
import type { Sandbox, SandboxedAgent } from "../runner/sandbox/sandbox.ts";

const TIME_LIMIT_MS = 30_000;
/** Prints those of its arguments that can't be read. */
const LIST_UNREADABLE = 'for path; do [ -r "$path" ] || printf "%s\\n" "$path"; done';

/**
 * The sandbox that all checks of agents share. `opened` rejects with a `SandboxMissingError`.
 * `folder` is for the files that the checks write.
 */
export type CheckSandbox = { folder: string; opened: Promise<Sandbox> };

/** `sandbox` is null if agents run without one. */
export type AgentCheck = { sandbox: CheckSandbox | null; env: Env; signal: AbortSignal };

/**
 * Checks that the agent's program and its files exist, and that the sandbox shows them to it.
 * Resolves to the program's path.
 */
export async function checkAgent({ agent }: ServiceProject, options: AgentCheck): Promise<string> {
  const [command = "", ...args] = agent.command;
  const path = await pathOf(agent, command, options.env["PATH"] ?? "/usr/bin:/bin");
  for (const readable of agent.readable) {
    if (await isThere(readable)) continue;
    throw new StartError(`There is no ${readable}. Correct agent.readable.`);
  }
  const opened = (await options.sandbox?.opened.catch(() => null)) ?? null;
  // A sandbox that doesn't open is reported by its own check.
  if (options.sandbox === null || opened === null) return path;
  const given: string[] = [];
  for (const arg of args) if (isAbsolute(arg) && (await isThere(arg))) given.push(arg);
  const folder = await mkdtemp(join(options.sandbox.folder, "agent-"));
  const [hidden] = await unreadableInside(agent, [path, ...given], { ...options, sandbox: opened, folder });
  if (hidden === undefined) return path;
  throw new StartError(`The sandbox doesn't show the agent ${hidden}. Add it to agent.readable.`);
}

async function pathOf(agent: ServiceProject["agent"], command: string, searchPath: string): Promise<string> {
  const program = await findProgram(command, searchPath);
  if (program !== null) return program.path;
  const found = await locate(command, searchPath);
  const runner = found === null ? null : await interpreterOf(found);
  if (runner !== null) throw new StartError(`${found} needs ${runner}, which isn't on the PATH. Install it.`);
  const advice =
    agent.kind === "acp" && agent.preset !== undefined
      ? `Install it: npm install -g ${AGENT_PRESETS[agent.preset].npmPackage}`
      : "Install it, or correct agent.command.";
  throw new StartError(`There is no program ${command} on the PATH. ${advice}`);
}

/**
 * Returns the paths that a program in such a sandbox can't read. Creates the sandbox's folders in
 * `folder`.
 */
export async function unreadableInside(
  {
    command: [command = ""],
    ...given
  }: Pick<SandboxedAgent, "readable" | "limits" | "shown"> & { command: readonly string[] },
  paths: readonly string[],
  { sandbox, folder, signal }: Omit<AgentCheck, "sandbox"> & { sandbox: Sandbox; folder: string },
): Promise<string[]> {
  const folders = { tree: join(folder, "tree"), home: join(folder, "home"), tmp: join(folder, "tmp") };
  for (const made of Object.values(folders)) await mkdir(made, { recursive: true });
  await using opened = await sandbox.open({ folders, command, networkSocket: null, ...given });
  const program = {
    ...opened.contain({ command: "/bin/sh", args: ["-c", LIST_UNREADABLE, "sh", ...paths] }),
    stdin: "",
    timeLimitMs: TIME_LIMIT_MS,
    maxOutputBytes: 64 * 1024,
  };
  const { stdout } = await runProgram(program, signal);
  return stdout
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "");
}

export async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
