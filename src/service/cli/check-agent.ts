import { existsSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { StartError } from "../../shared/errors.ts";
import { AGENT_PRESETS, presetOf } from "../config/agent-presets.ts";
import type { ServiceProject } from "../config/config.ts";
import type { Env } from "../config/env.ts";
import { runInside } from "../runner/workspace/sandbox/open-sandbox.ts";
import { findProgram, interpreterOf, locate } from "../runner/workspace/sandbox/program.ts";
import type { Sandbox, SandboxedAgent } from "../runner/workspace/sandbox/sandbox.ts";

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
  const missing = agent.readable.find((readable) => !existsSync(readable));
  if (missing !== undefined) throw new StartError(`There is no ${missing}. Correct agent.readable.`);
  const given = args.filter((arg) => isAbsolute(arg) && existsSync(arg));
  const hidden = await hiddenInside(agent, [path, ...given], options);
  if (hidden === undefined) return path;
  throw new StartError(`The sandbox doesn't show the agent ${hidden}. Add it to agent.readable.`);
}

async function pathOf(agent: ServiceProject["agent"], command: string, searchPath: string): Promise<string> {
  const program = await findProgram(command, searchPath);
  if (program !== null) return program.path;
  const found = await locate(command, searchPath);
  const runner = found === null ? null : await interpreterOf(found);
  if (runner !== null) throw new StartError(`${found} needs ${runner}, which isn't on the PATH. Install it.`);
  const preset = presetOf(agent);
  const advice =
    preset === null
      ? "Install it, or correct agent.command."
      : `Install it: npm install -g ${AGENT_PRESETS[preset.name].npmPackage}`;
  throw new StartError(`There is no program ${command} on the PATH. ${advice}`);
}

/**
 * The first of the paths that a program in such a sandbox can't read. Undefined if there is none,
 * or no sandbox.
 */
export async function hiddenInside(
  {
    command,
    ...given
  }: Pick<SandboxedAgent, "readable" | "limits" | "shown"> & { command: readonly string[] },
  paths: readonly string[],
  { sandbox, signal }: AgentCheck,
): Promise<string | undefined> {
  const opened = await sandbox?.opened.catch(() => null);
  // A sandbox that doesn't open is reported by its own check.
  if (!sandbox || !opened) return undefined;
  const folder = await mkdtemp(join(sandbox.folder, "check-"));
  const line = { command: "/bin/sh", args: ["-c", LIST_UNREADABLE, "sh", ...paths] };
  const { stdout } = await runInside(opened, { ...given, command: command[0] ?? "", folder }, line, signal);
  return stdout
    .toString("utf8")
    .split("\n")
    .find((path) => path !== "");
}
