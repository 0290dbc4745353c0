import { constants } from "node:fs";
import { access, open, realpath, stat } from "node:fs/promises";
import { basename, delimiter, isAbsolute, join, sep } from "node:path";

/** Programs and what they need, which every user of a machine may read. */
export const SYSTEM_FOLDERS = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];

/** A program on this machine. */
export type Program = {
  /** Its real path. */
  path: string;
  /** What must be readable for it to run, besides {@link SYSTEM_FOLDERS}, as real paths. */
  needs: string[];
  /** The names by which it, and its interpreter, are looked up, with their real paths. */
  names: Map<string, string>;
};

const MAX_SHEBANG_BYTES = 256;
/** A script may be run by another script. The system doesn't follow more of them either. */
const MAX_SCRIPTS = 4;

/**
 * Finds a program by its absolute path, or by its name in `searchPath`. Null if it isn't there, or
 * isn't a program.
 */
export async function findProgram(
  command: string,
  searchPath: string,
  maxScripts = MAX_SCRIPTS,
): Promise<Program | null> {
  const found = await locate(command, searchPath);
  if (found === null) return null;
  const path = await realpath(found);
  const needs = neededFor(path);
  const names = new Map([[basename(command), path]]);
  const runner = await interpreterOf(path);
  if (runner !== null) {
    const program = maxScripts > 0 ? await findProgram(runner, searchPath, maxScripts - 1) : null;
    if (program === null) return null;
    needs.push(...program.needs);
    for (const [name, target] of program.names) names.set(name, target);
  }
  return { path, needs: [...new Set(needs)], names };
}

/** The path of a program, given by path or by its name in `searchPath`. Null if there is none. */
export async function locate(command: string, searchPath: string): Promise<string | null> {
  if (isAbsolute(command)) return (await isProgram(command)) ? command : null;
  // A path relative to the working folder would depend on the agent's tree.
  if (command.includes(sep)) return null;
  for (const folder of searchPath.split(delimiter)) {
    const path = join(folder, command);
    if (isAbsolute(path) && (await isProgram(path))) return path;
  }
  return null;
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/** A package needs others, which npm puts beside it. */
function neededFor(path: string): string[] {
  if (SYSTEM_FOLDERS.some((folder) => path.startsWith(`${folder}/`))) return [];
  const [before, after] = path.split(`${sep}node_modules${sep}`, 2);
  return [after === undefined ? path : `${before}${sep}node_modules`];
}

/** The program in a script's first line, or null if the file isn't a script. */
export async function interpreterOf(path: string): Promise<string | null> {
  // A file that can be run but not read isn't a script, because a script must be readable to run.
  await using file = await open(path).catch(() => null);
  if (file === null) return null;
  const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_SHEBANG_BYTES), 0, MAX_SHEBANG_BYTES, 0);
  const line = buffer.subarray(0, bytesRead).toString("latin1").split("\n", 1)[0] ?? "";
  const words = /^#!\s*(.+)$/.exec(line)?.[1]?.trim().split(/\s+/);
  if (words === undefined) return null;
  const [program = "", ...args] = words;
  if (basename(program) !== "env") return program;
  return args.find((arg) => !arg.startsWith("-") && !arg.includes("=")) ?? null;
}
