import { execFile } from "node:child_process";
import { cp } from "node:fs/promises";
import { promisify } from "node:util";
import { Octokit } from "@octokit/rest";
import { type CodeHost, type CodeHostOptions, createCodeHost } from "../../../world/code-host/index.ts";
import { commitTo } from "../../support/commit-to.ts";
import { repositoryOf, writeFiles } from "../../support/repository-of.ts";
import { openTempDir } from "../../support/temp-dir.ts";

const run = promisify(execFile);

export const TOKEN = "code-host-test-token";
export const OWNER = "tidepool";
export const REPO = "docs";

export type TestHost = AsyncDisposable & {
  host: CodeHost;
  dataDir: string;
  octokit: Octokit;
  /** Ends the code host and starts another one on the same data. */
  restart(): Promise<void>;
  /** A folder of its own. */
  folder(name: string): string;
  clone(name: string): Promise<Checkout>;
  /**
   * What {@link Checkout} does with a working copy and git over HTTP, done in the repository
   * itself: much faster. Resolves to the commit.
   */
  push: Push<string>;
  /** A branch's newest commit. */
  tip(branch: string): Promise<string>;
};

/** Commits these files on a branch that starts at another one, `main` by default, and pushes it. */
type Push<Result> = (branch: string, files: Record<string, string>, from?: string) => Promise<Result>;

export type Checkout = {
  path: string;
  git(...args: string[]): Promise<string>;
  push: Push<void>;
};

/** git as a user would run it, with the token in a header that comes by environment. */
export async function git(cwd: string, args: string[], token: string | null = TOKEN): Promise<string> {
  const header = `Authorization: Basic ${Buffer.from(`x:${token}`).toString("base64")}`;
  const { stdout } = await run("git", args, {
    cwd,
    timeout: 15_000,
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: cwd,
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_TERMINAL_PROMPT: "0",
      GIT_AUTHOR_NAME: "Ana",
      GIT_AUTHOR_EMAIL: "ana@example.com",
      GIT_COMMITTER_NAME: "Ana",
      GIT_COMMITTER_EMAIL: "ana@example.com",
      ...(token === null
        ? {}
        : { GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "http.extraHeader", GIT_CONFIG_VALUE_0: header }),
    },
  });
  return stdout;
}

export const FILES = {
  "README.md": "# Tidepool\n\nThe docs.\n",
  "docs/quickstart.md": "# Quickstart\n\nOne\nTwo\nThree\n",
};

/** A code host on a free port with one repository, `tidepool/docs`. */
export async function openTestHost(
  files: Record<string, string> = FILES,
  more: Partial<CodeHostOptions> = {},
): Promise<TestHost> {
  const dir = await openTempDir();
  const dataDir = dir.file("data");
  await cp(await repositoryOf(files), dir.file(`data/repositories/${OWNER}/${REPO}.git`), {
    recursive: true,
  });
  const options = { dataDir, tokens: [TOKEN], searchPath: process.env["PATH"], ...more };
  let host = await createCodeHost(options);
  const client = () => new Octokit({ auth: TOKEN, baseUrl: host.apiUrl, log: QUIET });
  let octokit = client();
  return {
    get host() {
      return host;
    },
    get octokit() {
      return octokit;
    },
    dataDir,
    folder: (name) => dir.file(name),
    async restart() {
      await host.close();
      host = await createCodeHost(options);
      octokit = client();
    },
    async clone(name) {
      const path = dir.file(name);
      await git(dir.path, ["clone", "--quiet", host.gitUrl(OWNER, REPO), path], null);
      return checkout(path);
    },
    async push(branch, files, from = "main") {
      const pullRequests = host.repository(OWNER, REPO);
      const commit = await commitTo(pullRequests.repository.path, branch, files, { from });
      await pullRequests.followBranches();
      return commit;
    },
    async tip(branch) {
      const sha = await host.repository(OWNER, REPO).repository.branchSha(branch);
      if (sha === null) throw new Error(`There is no branch ${branch}`);
      return sha;
    },
    async [Symbol.asyncDispose]() {
      await host.close();
      await dir[Symbol.asyncDispose]();
    },
  };
}

export const QUIET = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

function checkout(path: string): Checkout {
  return {
    path,
    git: (...args) => git(path, args),
    async push(branch, files, from = "main") {
      await git(path, ["fetch", "--quiet", "origin"]);
      await git(path, ["checkout", "--quiet", "-B", branch, `origin/${from}`]);
      await writeFiles(path, files);
      await git(path, ["add", "--all"]);
      await git(path, ["commit", "--quiet", "-m", `Change ${Object.keys(files).join(", ")}`]);
      await git(path, ["push", "--quiet", "origin", branch]);
    },
  };
}

/** A branch pushed and its pull request opened. Resolves to its number. */
export async function openPullRequest(
  test: TestHost,
  branch: string,
  files: Record<string, string>,
  by: { push: Push<unknown> } = test,
): Promise<number> {
  await by.push(branch, files);
  const { data } = await test.octokit.rest.pulls.create({
    owner: OWNER,
    repo: REPO,
    title: `Change of ${branch}`,
    head: branch,
    base: "main",
    body: "What was wrong.",
  });
  return data.number;
}

/** What Octokit's call was refused with. */
export async function refusal(
  call: Promise<unknown>,
): Promise<{ status: number; message: string; errors: unknown }> {
  const thrown: unknown = await call.then(
    () => new Error("It was not refused"),
    (reason: unknown) => reason,
  );
  const { status, response } = thrown as {
    status?: number;
    response?: { data?: { message?: string; errors?: unknown } };
  };
  if (status === undefined) throw thrown;
  return { status, message: response?.data?.message ?? "", errors: response?.data?.errors };
}
