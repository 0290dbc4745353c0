import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Files, writeFiles } from "./files.ts";

/** The check of the preset `links`, which projects have, too. */
const PROGRAM = resolve(import.meta.dirname, "../deploy/docs-checks/links.mjs");
const FINDINGS = 1;
/** Whoever judges doesn't wait longer. */
const LIMITS = { timeout: 120_000, maxBuffer: 16 * 1024 ** 2 };

/** A task's own repository is looked at once, however many solutions are judged. */
const found = new WeakMap<Files, Promise<string[]>>();

/**
 * The links and anchors between these files that lead nowhere, in one line each without positions.
 */
export function brokenLinks(files: Files): Promise<string[]> {
  const links = found.get(files) ?? lookForBrokenLinks(files);
  found.set(files, links);
  return links;
}

async function lookForBrokenLinks(files: Files): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), "eval-links-"));
  try {
    await writeFiles(folder, files);
    const said = await outputOf(folder);
    return said.split("\n").flatMap((line) => (line === "" ? [] : [line.replace(/:\d+ /, ": ")]));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function outputOf(cwd: string): Promise<string> {
  const { promise, resolve: done, reject } = Promise.withResolvers<string>();
  execFile(process.execPath, [PROGRAM], { cwd, ...LIMITS }, (error, stdout) => {
    if (error === null || error.code === FINDINGS) done(stdout);
    else reject(error);
  });
  return promise;
}
