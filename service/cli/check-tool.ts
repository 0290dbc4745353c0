import { mkdir, mkdtemp } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { StartError } from "../../src/process/start-error.ts";
import { presetOfCheck } from "../config/check-presets.ts";
import type { ServiceProject } from "../config/config.ts";
import { isInside } from "../runner/confined-files.ts";
import { findProgram } from "../runner/sandbox/program.ts";
import { type AgentCheck, isThere, unreadableInside } from "./check-agent.ts";

/**
 * Looks for the tool of one of the project's checks and what it is given, and whether its sandbox
 * shows them to it. Resolves to the program's path.
 */
export async function checkTool(
  check: ServiceProject["verify"][number],
  { agent }: ServiceProject,
  { sandbox, env, signal }: AgentCheck,
): Promise<string> {
  const { command, readable, mounts, cwd } = check;
  const install = presetOfCheck(check)?.install ?? "install it, or correct the check in verify";
  const missing = (what: string) => new StartError(`There is no ${what}. To mend that: ${install}.`);
  const [name = "", ...args] = command;
  const program = await findProgram(name, env["PATH"] ?? "/usr/bin:/bin");
  if (program === null) throw missing(`program ${name}`);
  for (const path of [...readable, ...mounts.map(({ from }) => from)]) {
    if (!(await isThere(path))) throw missing(path);
  }
  for (const arg of args) {
    const file = isAbsolute(arg) ? arg : join("/", cwd, arg);
    const mount = mounts.find(({ at }) => !isAbsolute(arg) && isInside(join("/", at), file));
    const isShown = isAbsolute(arg) && readable.some((folder) => isInside(folder, arg));
    const needed = mount === undefined ? file : join(mount.from, file.slice(join("/", mount.at).length));
    if ((mount !== undefined || isShown) && !(await isThere(needed))) throw missing(needed);
  }
  const opened = (await sandbox?.opened.catch(() => null)) ?? null;
  // That it doesn't open is a fault of its own, which nothing here mends.
  if (sandbox === null || opened === null) {
    if (sandbox !== null || mounts.length === 0) return program.path;
    throw new StartError("A check with mounts needs a sandbox. Set containment to required, or remove it.");
  }
  const folder = await mkdtemp(join(sandbox.folder, "check-"));
  for (const { at } of mounts) await mkdir(join(folder, "tree", at), { recursive: true });
  const shown = { command, readable, shown: mounts, limits: agent.limits };
  const place = { sandbox: opened, folder, env, signal };
  const [hidden] = await unreadableInside(shown, [program.path], place);
  if (hidden === undefined) return program.path;
  throw new StartError(`The sandbox doesn't show the check ${hidden}. Add it to its readable.`);
}
