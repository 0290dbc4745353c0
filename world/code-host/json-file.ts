import { mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";
import type { z } from "zod";
import { CodeHostError } from "./errors.ts";

/**
 * Resolves to the content of a JSON file. Undefined if there is no file. Rejects with
 * `CodeHostError` if the content isn't what was once written. `what` names it in the message.
 */
export async function readJsonFile<Schema extends z.ZodType>(
  file: string,
  schema: Schema,
  what: string,
): Promise<z.infer<Schema> | undefined> {
  const text = await readFile(file, "utf8").catch((thrown: unknown) => {
    if (isMissing(thrown)) return null;
    throw thrown;
  });
  if (text === null) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new CodeHostError(`${file} does not hold ${what}. Remove it to start without`, { cause });
  }
}

/**
 * Replaces a file as a whole. It is on the disk when this resolves. Only one call for a file may
 * run at a time.
 */
export async function replaceJsonFile(file: string, value: unknown): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const draft = `${file}.new`;
  const handle = await open(draft, "w");
  try {
    await handle.writeFile(`${JSON.stringify(value, null, 2)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(draft, file);
}

function isMissing(thrown: unknown): boolean {
  return thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT";
}
