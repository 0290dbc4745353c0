import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
