import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { codeOf, StartError } from "../../src/core/errors.ts";
import type { Redact } from "../base/redaction.ts";
import { CommitIdentities, NOBODY } from "../code-host/commit-identities.ts";
import { createGitHubCommits } from "../code-host/github-commits.ts";
import type { GitHubOptions } from "../code-host/github-api.ts";
import type { ServiceProject } from "../config/config.ts";
import type { Env } from "../config/env.ts";
import { TransientRunError } from "../base/run-error.ts";
import { type Committer, commitTree } from "../runner/git/commit-tree.ts";
import { GitRunner } from "../runner/git/git.ts";
import { prepare } from "../runner/git/mirror-files.ts";
import { runProgram } from "../runner/process-group.ts";
import type { Found } from "./check-code-host.ts";

type Trying = { env: Env; redact: Redact; signal: AbortSignal };

/** Finds out whose commits a project's are, and tries the key that signs them. */
export async function checkCommits(
  project: Pick<ServiceProject, "codeHost" | "commits">,
  hosted: GitHubOptions | null,
  trying: Trying,
): Promise<Found> {
  const identity = await new CommitIdentities().of(project, hosted, trying.signal).catch((error: unknown) => {
    if (error instanceof TransientRunError) return null;
    throw error;
  });
  // What is wrong with the code host is said of the code host.
  if (identity === null) return { found: "not known, because the code host didn't answer", warning: null };
  const found = `by ${identity.name} <${identity.email}>`;
  const { signingKeyFile, by } = project.commits;
  if (by === "api" && hosted !== null) {
    await createGitHubCommits(hosted).check(trying.signal);
    return { found: `${found}, made and signed by the code host`, warning: null };
  }
  if (signingKeyFile !== null) {
    const warning = await checkSigningKey({ ...identity, signingKeyFile }, signingKeyFile, trying);
    return { found: `${found}, signed`, warning };
  }
  const isUnknown = hosted !== null && identity.email === NOBODY.email;
  const warning =
    "The code host doesn't say which account the service has, so the address of its commits is " +
    "nobody's. Set commits.name and commits.email.";
  return { found, warning: isUnknown ? warning : null };
}

/**
 * Signs a commit that is thrown away, and verifies it. Resolves to a warning if others can read the
 * key, or null.
 */
async function checkSigningKey(
  committer: Committer,
  keyFile: string,
  trying: Trying,
): Promise<string | null> {
  const stats = await stat(keyFile).catch((error: unknown) => {
    throw new StartError(`Can't read commits.signingKeyFile, ${keyFile} (${codeOf(error)}). Correct it.`);
  });
  const folder = await mkdtemp(join(tmpdir(), "docs-agent-check-"));
  try {
    const git = new GitRunner({ gitDir: join(folder, "check.git"), home: folder, ...trying });
    await prepare(git);
    const tree = await git.text(["mktree"]);
    const commit = await commitTree(git, { committer, tree, parents: [], message: "Try", atMs: 0 });
    const signers = join(folder, "signers");
    await writeFile(signers, `${committer.email} ${await publicKeyOf(keyFile, trying)}`);
    await git.run(["-c", `gpg.ssh.allowedSignersFile=${signers}`, "verify-commit", commit]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const isOpen = (stats.mode & 0o077) !== 0;
  return isOpen ? `Others on this machine can read ${keyFile}. Run chmod 600 on it.` : null;
}

async function publicKeyOf(keyFile: string, { env, signal }: Trying): Promise<string> {
  const { stdout } = await runProgram(
    {
      command: "ssh-keygen",
      args: ["-y", "-P", "", "-f", keyFile],
      cwd: tmpdir(),
      env: { PATH: env["PATH"] ?? "/usr/bin:/bin" },
      stdin: "",
      timeLimitMs: 10_000,
      maxOutputBytes: 100_000,
    },
    signal,
  );
  return stdout.toString("utf8");
}
