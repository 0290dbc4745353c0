import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FOLDERS = 100;
const FILES_PER_FOLDER = 50;
const FILE_BYTES = 40 * 1024;
const GIT_TIMEOUT_MS = 120_000;

/** The size of the repository, in words. */
export const REPOSITORY_SIZE = "5,000 files, 200 MB";

/**
 * Makes a bare repository at `path` with 5,000 pages of 40 KB, in one commit on `main`. `work` is a
 * folder to make it in.
 */
export function makeDocsRepository(path: string, work: string): void {
  // Half of it compresses, like text.
  const texts = Array.from({ length: 50 }, () => randomBytes(FILE_BYTES / 2).toString("hex"));
  for (let folder = 0; folder < FOLDERS; folder += 1) {
    const dir = join(work, "docs", `part-${folder}`);
    mkdirSync(dir, { recursive: true });
    for (const [page, text] of texts.entries()) {
      if (page >= FILES_PER_FOLDER) break;
      const title = `# Page ${folder}/${page}\n`;
      writeFileSync(join(dir, `page-${page}.md`), title + text.slice(title.length));
    }
  }
  writeFileSync(join(work, "README.md"), "# Docs\n");
  const git = (...args: string[]) =>
    execFileSync(
      "git",
      ["-c", "user.name=Bench", "-c", "user.email=bench@example.com", "-c", "core.compression=1", ...args],
      { cwd: work, stdio: ["ignore", "ignore", "inherit"], timeout: GIT_TIMEOUT_MS },
    );
  git("init", "--quiet", "--initial-branch=main");
  git("add", "--all");
  git("commit", "--quiet", "--message=Start");
  git("clone", "--quiet", "--bare", "--no-hardlinks", ".", path);
}
