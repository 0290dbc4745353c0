import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Files, writeFiles } from "./files.ts";

/** The program of the preset `links`, which projects use for their checks. */
const PROGRAM = resolve(import.meta.dirname, "../deploy/docs-checks/links.mjs");
const FINDINGS = 1;
/** The judge waits no longer than this. */
const LIMITS = { timeout: 120_000, maxBuffer: 16 * 1024 ** 2 };

/** Results by files. So a task's repository is checked once, however many solutions are judged. */
const found = new WeakMap<Files, Promise<string[]>>();

/** The broken links and anchors in these files, each in a line without its position. */
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
