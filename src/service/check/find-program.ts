import { constants } from "node:fs";
import { access, open, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join, resolve } from "node:path";

/** A program as the system would start it; `missing` names what isn't there: itself, or what its first line asks for. */
export type FoundProgram = { path: string; missing: null } | { path: null; missing: string };

const MAX_FIRST_LINE_BYTES = 256;

/** Finds a program on a `PATH`, and the interpreter if it is a script. Names with a slash are paths, relative to `folder`. */
export async function findProgram(name: string, searchPath: string, folder: string): Promise<FoundProgram> {
  const places = name.includes("/")
    ? [resolve(folder, name)]
    : searchPath.split(delimiter).flatMap((place) => (isAbsolute(place) ? [join(place, name)] : []));
  for (const place of places) {
    if (!(await isProgram(place))) continue;
    const interpreter = await interpreterOf(place);
    if (interpreter === null) return { path: place, missing: null };
    const found = await findProgram(interpreter, searchPath, folder);
    return found.path === null ? found : { path: place, missing: null };
  }
  return { path: null, missing: name };
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/** What a script's first line names; for `/usr/bin/env`, the program that it looks for. Null for what is no script. */
async function interpreterOf(path: string): Promise<string | null> {
  const start = Buffer.alloc(MAX_FIRST_LINE_BYTES);
  await using file = await open(path).catch(() => null);
  // One may be allowed to run what one may not read.
  if (file === null) return null;
  await file.read(start, 0, start.length, 0);
  const [, interpreter, words = ""] = /^#! *(\/\S+)([^\n]*)\n/.exec(start.toString("latin1")) ?? [];
  if (interpreter === undefined) return null;
  if (!interpreter.endsWith("/env")) return interpreter;
  return (
    words.split(/\s+/).find((word) => word !== "" && !word.startsWith("-") && !word.includes("=")) ?? null
  );
}
