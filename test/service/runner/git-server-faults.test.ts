// @module-tag all

import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import fc from "fast-check";
import { expect, it } from "vitest";
import { TransientRunError, TurnFailedError } from "../../../src/service/base/run-error.ts";
import {
  BranchInTheWayError,
  CredentialsRefusedError,
  RefConflictError,
  remoteFault,
  UnclearRemoteError,
} from "../../../src/service/runner/workspace/git/git-fault.ts";
import { inlineAgent, openRunnerWorld } from "../../support/runner-world.ts";

const PROJECT = { repository: "git@git.example.com:acme/docs.git" };
const EDIT = inlineAgent(`fs.appendFileSync("README.md", "more\\n")`);

/** A world whose `ssh` runs what git asks of the server right here, or says what the file `says` has and fails. */
async function openSshWorld() {
  const world = await openRunnerWorld();
  const bin = world.dir.file("bin");
  const says = world.dir.file("says");
  const calls = world.dir.file("calls");
  await mkdir(bin);
  await writeFile(
    `${bin}/ssh`,
    `#!/bin/sh
echo call >> '${calls}'
if [ -e '${says}' ]; then cat '${says}' >&2; exit 255; fi
for last; do :; done
cd '${world.dir.file("code-host/repositories")}' && eval "$last"
`,
    { mode: 0o755 },
  );
  world.env["PATH"] = `${bin}:${world.env["PATH"]}`;
  const mirror = async () => {
    const [name] = await readdir(world.dir.file("data/mirrors"));
    return world.dir.file(`data/mirrors/${name}`);
  };
  return {
    world,
    mirror,
    markMirror: async () => writeFile(`${await mirror()}/mark`, ""),
    /** Whether the mirror is the one that was marked. */
    isSameMirror: async () => (await readdir(await mirror())).includes("mark"),
    serverSays: (words: string) => writeFile(says, words),
    serverWorks: () => rm(says, { force: true }),
    calls: async () => (await readFile(calls, "utf8")).split("\n").length - 1,
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

it.each([
  [
    "fatal: unable to access 'https://git.example.com/': The requested URL returned error: 503",
    "The git server answered 503.",
  ],
  [
    "fatal: Authentication failed for 'https://git.example.com/'",
    "The git server refused the service's credentials.",
  ],
  [
    "remote: Permission to acme/docs.git denied to bot.\nfatal: unable to access 'x': The requested URL returned error: 403",
    "The git server refused the service's credentials.",
  ],
  [
    "remote: This repository was archived so it is read-only.\nfatal: unable to access 'x': The requested URL returned error: 403",
    "The repository is archived, so it can't be changed.",
  ],
  [
    "ERROR: The `acme' organization has enabled or enforced SAML SSO.\nfatal: Could not read from remote repository.",
    "The organization asks for single sign-on, which the service isn't authorized for.",
  ],
  [
    "remote: Come back after the audit.\nfatal: unable to access 'x': The requested URL returned error: 403",
    "The git server refused. It said: “Come back after the audit.”",
  ],
  [
    "fatal: repository 'https://git.example.com/' not found",
    "There is no such repository, or the service may not see it.",
  ],
  [
    "fatal: unable to access 'https://git.example.com/': The requested URL returned error: 301",
    "The repository has moved.",
  ],
  [
    "fatal: detected dubious ownership in repository at '/srv/docs'",
    "The service may not use the repository.",
  ],
  ["fatal: couldn't find remote ref refs/heads/man", "The repository has no branch man to start from."],
  [
    "fatal: SSL certificate problem: self-signed certificate",
    "The service doesn't trust the git server's certificate.",
  ],
  ["fatal: The requested URL returned error: 418", "The git server answered 418."],
  ["fatal: Could not resolve host: git.example.com", "The git server can't be reached."],
  ["fatal: in /srv/docs-agent/mirrors/x.git", "Git failed with the git server."],
])("gives people a reason without settings or paths, and the operator all of it: %s", (words, reason) => {
  const fault = remoteFault("git fetch", { stdout: "", stderr: words });
  expect(fault.message).toBe(reason);
  expect(fault.details.at(-1)).toBe(`git fetch: ${words}`);
});

const REJECTED = "To https://git.example.com/docs\n!\tabc:refs/heads/docs-agent/job1\t";

it.each([
  ["[rejected] (stale info)", RefConflictError],
  ["[remote rejected] (fetch first)", RefConflictError],
  ["[remote rejected] (failed to update ref)", RefConflictError],
  ["[remote rejected] (incorrect old value provided)", RefConflictError],
  ["[remote rejected] (cannot lock ref 'refs/heads/x': is at 1 but expected 2)", RefConflictError],
  ["[remote rejected] (directory file conflict)", BranchInTheWayError],
  [
    "[remote rejected] (cannot lock ref 'refs/heads/d/x': 'refs/heads/d' exists; cannot create 'refs/heads/d/x')",
    BranchInTheWayError,
  ],
  ["[remote rejected] (pre-receive hook declined)", TurnFailedError],
  ["[remote rejected] (protected branch hook declined)", TurnFailedError],
  ["[remote rejected] (Internal Server Error)", TransientRunError],
  ["[remote failure] (remote failed to report status)", UnclearRemoteError],
])("knows by git's line about the branch how a push ended: %s", (line, kind) => {
  // What a hook says makes no difference.
  const said = ["cannot lock ref", "fetch first", "stale info", "[rejected] (stale info)"];
  const fake = [
    "fatal: Authentication failed",
    "The requested URL returned error: 403",
    "fatal: unable to access 'x': Could not resolve host: x",
    "'refs/heads/a' exists; cannot create 'refs/heads/a/b'",
    "!\tabc:refs/heads/docs-agent/job1\t[rejected] (stale info)",
  ];
  for (const words of [...said, ...fake]) {
    const stderr = `remote: ${words}        \rremote: ${words}        \n`;
    const fault = remoteFault("git push", { stdout: `${REJECTED}${line}\nDone\n`, stderr });
    expect(fault.constructor).toBe(kind);
  }
});

it("quotes what a hook says, and reads nothing else out of it", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary-ascii", maxLength: 300 }), (words) => {
      const lines = words.split("\n").map((line) => `remote: ${line}`);
      const stdout = `${REJECTED}[remote rejected] (pre-receive hook declined)\n`;
      const fault = remoteFault("git push", { stdout, stderr: lines.join("\n") });
      expect(fault).toBeInstanceOf(TurnFailedError);
      expect(fault).not.toBeInstanceOf(CredentialsRefusedError);
      expect(fault.message).toMatch(/^The git server refused the push\./);
      // Without git's line, the push broke off, whatever the hook had said by then.
      const cut = remoteFault("git push", { stdout: "To x\n", stderr: lines.join("\n") });
      expect(cut).toBeInstanceOf(UnclearRemoteError);
    }),
  );
});

it.each([
  "git@git.example.com: Permission denied (publickey).\nfatal: Could not read from remote repository.\n",
  "Host key verification failed.\nfatal: Could not read from remote repository.\n",
])("fails a turn whose git server refuses to talk over ssh, and keeps the mirror: %j", async (words) => {
  await using ssh = await openSshWorld();
  const project = ssh.world.project(EDIT, PROJECT);
  expect(await ssh.world.run(project)).toMatchObject({ kind: "pull-request" });
  await ssh.markMirror();
  const callsBefore = await ssh.calls();

  await ssh.serverSays(words);
  expect(await ssh.world.run(project, { jobId: "job2" })).toMatchObject({
    kind: "failed",
    reason: "The git server refused the service's SSH key, or the service doesn't know the server.",
    details: [
      "Check that the SSH agent has a key with rights on the repository, and that known_hosts has the server.",
      expect.stringMatching(/^git fetch: /) as string,
    ],
  });
  expect(await ssh.calls()).toBe(callsBefore + 1);
  expect(await ssh.isSameMirror()).toBe(true);
});

it.each([
  "ssh: connect to host git.example.com port 22: Connection refused\nfatal: Could not read from remote repository.\n",
  "The server is in a mood that nobody has seen before.\n",
])("leaves a turn for later, and keeps the mirror, when the git server says: %j", async (words) => {
  await using ssh = await openSshWorld();
  const project = ssh.world.project(EDIT, PROJECT);
  await ssh.world.run(project);
  await ssh.markMirror();

  await ssh.serverSays(words);
  await expect(ssh.world.run(project, { jobId: "job2" })).rejects.toThrow(TransientRunError);
  expect(await ssh.isSameMirror()).toBe(true);
  await ssh.serverWorks();
  expect(await ssh.world.run(project, { jobId: "job2" })).toMatchObject({ kind: "pull-request" });
});

it("makes a mirror anew that lacks objects when the git server says what nobody understands", async () => {
  await using ssh = await openSshWorld();
  const project = ssh.world.project(EDIT, PROJECT);
  await ssh.world.run(project);
  const objects = `${await ssh.mirror()}/objects`;
  for (const name of await readdir(objects)) await rm(`${objects}/${name}`, { recursive: true });
  await ssh.serverSays("The server is in a mood that nobody has seen before.\n");
  await expect(ssh.world.run(project, { jobId: "job2" })).rejects.toThrow(TransientRunError);
  expect(ssh.world.logger.text("warn")).toContain("mirror is broken");
  await ssh.serverWorks();
  expect(await ssh.world.run(project, { jobId: "job2" })).toMatchObject({ kind: "pull-request" });
});
