import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** One commit: its message, the day, who made it, and the files that it writes or removes. */
export type Commit = {
  message: string;
  day: string;
  author?: string;
  files: Readonly<Record<string, string | null>>;
};

/** Makes a repository with these commits in a folder. */
export function makeHistory(folder: string, commits: readonly Commit[]): void {
  mkdirSync(folder, { recursive: true });
  const git = (args: readonly string[], env: Record<string, string> = {}) =>
    execFileSync("git", args, { cwd: folder, env: { ...process.env, ...env }, stdio: "pipe" });
  git(["init", "--quiet", "--initial-branch=main"]);
  for (const { message, day, author = "Ana", files } of commits) {
    for (const [path, text] of Object.entries(files)) {
      const file = join(folder, path);
      mkdirSync(dirname(file), { recursive: true });
      if (text === null) rmSync(file);
      else writeFileSync(file, text);
    }
    git(["add", "--all"]);
    const at = `${day}T12:00:00Z`;
    git(["-c", "commit.gpgsign=false", "commit", "--quiet", `--message=${message}`], {
      GIT_AUTHOR_NAME: author,
      GIT_AUTHOR_EMAIL: "a@example.com",
      GIT_COMMITTER_NAME: author,
      GIT_COMMITTER_EMAIL: "a@example.com",
      GIT_AUTHOR_DATE: at,
      GIT_COMMITTER_DATE: at,
    });
  }
}
