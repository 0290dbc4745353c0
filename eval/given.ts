import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DocsAgentError } from "../src/shared/errors.ts";
import { type Files, readFiles } from "./files.ts";
import { git } from "./git.ts";
import { Report } from "./report-schema.ts";
import { EvalOptionError } from "./settings.ts";

/**
 * The newest files on a repository's default branch, or the files of a folder. Rejects with an
 * {@link EvalOptionError}.
 */
export async function filesOf(repository: string): Promise<Files> {
  const folder = await mkdtemp(join(tmpdir(), "eval-docs-"));
  try {
    const isFolder = existsSync(repository) && !existsSync(join(repository, ".git"));
    if (isFolder) return await readFiles(repository);
    const flags = ["-c", "core.symlinks=false", "--quiet", "--depth=1"];
    await git(["clone", ...flags, "--", repository, folder]);
    return await readFiles(folder);
  } catch (error) {
    const why = error instanceof Error ? (error.message.trim().split("\n").at(-1) ?? "") : "";
    throw new EvalOptionError(`--repository ${repository} can't be read: ${why}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Reads a `report.json`. Rejects with an {@link EvalOptionError} if it isn't one. */
export async function readReport(file: string): Promise<Report> {
  if (!existsSync(file)) throw new EvalOptionError(`There is no file ${file}.`);
  const report = Report.safeParse(jsonIn(await readFile(file, "utf8")));
  if (report.success) return report.data;
  throw new EvalOptionError(`${file} isn't a report.json of an evaluation.`);
}

/** What a JSON text holds, or undefined. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What a file or folder that was named isn't, by Node's codes. */
const FILE_FAULTS: Readonly<Record<string, (path: string) => string>> = {
  ENOENT: (path) => `There is no file or folder ${path}.`,
  EISDIR: (path) => `${path} is a folder, and a file is needed.`,
  ENOTDIR: (path) => `${path} is a file, and a folder is needed.`,
  EACCES: (path) => `${path} can't be read: permission denied.`,
  ELOOP: (path) => `${path} is a link to itself.`,
};

/**
 * What to tell people of an error that a command ended with. Null if it is none that what they
 * typed explains.
 */
export function errorText(error: unknown): string | null {
  if (error instanceof DocsAgentError) return error.message;
  if (!(error instanceof Error) || !("code" in error)) return null;
  const path = "path" in error && typeof error.path === "string" ? error.path : "It";
  return FILE_FAULTS[String(error.code)]?.(path) ?? null;
}
