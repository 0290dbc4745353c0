import { readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { codeOf, StartError } from "../../shared/errors.ts";
import { type CommitIdentities, NOBODY } from "../pulls/code-host/commit-identities.ts";
import { createGitHubCommits } from "../pulls/code-host/github-commits.ts";
import type { GitHubOptions } from "../pulls/code-host/github-api.ts";
import type { ServiceProject } from "../config/config.ts";
import { TransientRunError } from "../base/run-error.ts";
import type { Committer } from "../runner/workspace/git/commit-tree.ts";
import { runProgram } from "../runner/workspace/process-group.ts";
import type { Found } from "./check-code-host.ts";
import { emptyCommit, inScratchRepository, type Trying } from "./scratch-repository.ts";

const PRIVATE_KEY = /^-----BEGIN [A-Z ]*PRIVATE KEY-----/;

/** Finds out whose commits a project's are, and tries the key that signs them. */
export async function checkCommits(
  project: Pick<ServiceProject, "codeHost" | "commits">,
  hosted: GitHubOptions | null,
  { identities, ...trying }: Trying & { identities: CommitIdentities },
): Promise<Found> {
  const identity = await identities.of(project, hosted, trying.signal).catch((error: unknown) => {
    if (error instanceof TransientRunError) return null;
    throw error;
  });
  // What is wrong with the code host is said of the code host.
  if (identity === null) return { found: "not known, because the code host didn't answer", warning: null };
  const { signingKeyFile, by, signOff } = project.commits;
  const found = `by ${identity.name} <${identity.email}>${signOff ? ", signed off" : ""}`;
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
 * Signs a commit that is thrown away, and verifies it. Rejects with what is wrong with the key.
 * Resolves to a warning if anybody can read it, or null.
 */
async function checkSigningKey(
  committer: Committer,
  keyFile: string,
  trying: Trying,
): Promise<string | null> {
  const publicKey = await publicKeyOf(keyFile, trying);
  await inScratchRepository(trying, async (git, folder) => {
    const commit = await emptyCommit(git, committer);
    const signers = join(folder, "signers");
    await writeFile(signers, `${committer.email} ${publicKey}`);
    await git.run(["-c", `gpg.ssh.allowedSignersFile=${signers}`, "verify-commit", commit]);
  });
  const isOpen = ((await stat(keyFile)).mode & 0o007) !== 0;
  return isOpen ? `Others on this machine can read ${keyFile}. Run chmod o= on it.` : null;
}

/** Rejects if the file isn't a private key that the service can use. */
async function publicKeyOf(keyFile: string, { env, signal }: Trying): Promise<string> {
  const setting = `commits.signingKeyFile, ${keyFile}`;
  const words = await readFile(keyFile, "utf8").catch((error: unknown) => {
    throw new StartError(`Can't read ${setting} (${codeOf(error)}). Correct it.`);
  });
  if (!PRIVATE_KEY.test(words)) {
    throw new StartError(`${setting}, isn't a private SSH key. Set it to one, such as id_ed25519.`);
  }
  // Of one's own keys, SSH takes only those that nobody else can read.
  const { mode, uid } = await stat(keyFile);
  if (uid === process.getuid?.() && (mode & 0o077) !== 0) {
    throw new StartError(`Others on this machine can read ${keyFile}. Run chmod 600 on it.`);
  }
  const { ending, stdout, stderr } = await runProgram(
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
  if (ending.kind === "not-started") {
    throw new StartError("There is no ssh-keygen, which signs commits. Install OpenSSH 8.2 or later.");
  }
  if (stderr.includes("passphrase")) {
    throw new StartError(`${setting}, has a passphrase. Remove it with ssh-keygen -p, or use another key.`);
  }
  const publicKey = stdout.toString("utf8");
  if (publicKey === "") throw new StartError(`ssh-keygen can't read ${setting}. Set it to another key.`);
  return publicKey;
}
