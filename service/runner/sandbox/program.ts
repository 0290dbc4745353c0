import { constants } from "node:fs";
import { access, open, realpath, stat } from "node:fs/promises";
import { basename, delimiter, isAbsolute, join, sep } from "node:path";

/** Programs and what they need, which every user of a machine may read. */
export const SYSTEM_FOLDERS = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];

/** A program on this machine. */
export type Program = {
  /** Its real path. */
  path: string;
  /** What has to be readable for it to run, besides {@link SYSTEM_FOLDERS}: real paths. */
  needs: string[];
  /** Under which names it, and what runs it, are looked for: name to real path. */
  names: Map<string, string>;
};

const MAX_SHEBANG_BYTES = 256;
/** A script may be run by a script; the system goes no further than this either. */
const MAX_SCRIPTS = 4;

/**
 * Finds a program by its absolute path, or by its name in `searchPath`. Null: it isn't there, or is
 * no program.
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

/**
 * The path of a program that is named, or found by its name in `searchPath`; null: there is none.
 */
export async function locate(command: string, searchPath: string): Promise<string | null> {
  if (isAbsolute(command)) return (await isProgram(command)) ? command : null;
  // A path from the working folder would be for the agent's tree to say.
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

/** A package brings others along, which npm puts beside it. */
function neededFor(path: string): string[] {
  if (SYSTEM_FOLDERS.some((folder) => path.startsWith(`${folder}/`))) return [];
  const [before, after] = path.split(`${sep}node_modules${sep}`, 2);
  return [after === undefined ? path : `${before}${sep}node_modules`];
}

/** The program that a script's first line names; null if the file is not a script. */
export async function interpreterOf(path: string): Promise<string | null> {
  // A file that can be run but not read is not a script, since a script must be readable to run.
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
