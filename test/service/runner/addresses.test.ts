// @module-tag all

import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { isBaseBranch, jobBranch } from "../../../src/service/config/branches.ts";
import { repositoryKind } from "../../../src/service/config/repository.ts";
import { openTempDir } from "../../support/temp-dir.ts";

const USABLE = [
  "git@github.com:acme/docs.git",
  "git@host:~/docs",
  "ssh://git@github.com/acme/docs.git",
  "ssh://host/acme/docs",
  "ssh://git@host:2222/acme/docs",
  "ssh://git@[::1]/acme/docs",
  "build.bot_1@host-1.example.com:docs",
];
const UNUSABLE = [
  "-x@host:docs",
  "git@-host:docs",
  "git@host:-docs",
  "ssh://-x@host/docs",
  "ssh://-host/docs",
  "ssh://host",
  "ssh://host/",
  "ssh://host?docs",
  "ssh://user:pass@host/docs",
  "ssh://a%20b@host/docs",
];

it.each(USABLE)("git connects to %s, which the settings take", async (address) => {
  await using dir = await openTempDir();
  writeFileSync(dir.file("ssh"), `#!/bin/sh\nprintf '%s\\n' "$@" >"${dir.file("asked")}"\nexit 1\n`, {
    mode: 0o755,
  });
  expect(repositoryKind(address)).toBe("ssh");
  const env = { PATH: process.env["PATH"], GIT_SSH: dir.file("ssh"), GIT_SSH_VARIANT: "ssh" };
  spawnSync("git", ["ls-remote", "--", address], { env, timeout: 20_000 });
  const { stdout } = spawnSync("cat", [dir.file("asked")], { encoding: "utf8" });
  expect(stdout).toContain("git-upload-pack");
});

it.each(UNUSABLE)("the settings refuse %s", (address) => {
  expect(repositoryKind(address)).toBeNull();
});

it.each([
  "main",
  "release/1.0",
  "docs",
  "docs-agents",
  "a+b",
  "ü",
  "-x",
  "a..b",
  "a.lock",
  "x^",
  "main:x",
  "a@{1}",
  "a//b",
  "/a",
  "a/",
  ".a",
  "a.",
  "a b",
  "a~1",
  "a\\b",
])("a base branch %j is taken if git takes it", (name) => {
  const { status } = spawnSync("git", ["check-ref-format", "--branch", name]);
  expect(isBaseBranch(name, "docs-agent/")).toBe(status === 0);
});

// Whatever the prefix and the base branch, git takes both branches.
it("a base branch leaves room for the branches of jobs", async () => {
  await using dir = await openTempDir();
  const git = (...args: string[]) => spawnSync("git", ["-C", dir.path, ...args], { encoding: "utf8" });
  git("init", "--quiet", "--bare", ".");
  const tree = git("mktree").stdout.trim();
  const who = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
  const commit = git(...who, "commit-tree", "-m", "x", tree).stdout.trim();
  for (const base of ["a", "a/b", "a/b/c", "ab", "a-b"]) {
    for (const prefix of ["a/", "a/b/", "a/b", "a-", "b/a/"]) {
      if (!isBaseBranch(base, prefix)) continue;
      for (const name of [base, jobBranch(prefix, "job-1")]) {
        expect(git("update-ref", `refs/heads/${name}`, commit).status).toBe(0);
      }
      for (const name of [base, jobBranch(prefix, "job-1")]) git("update-ref", "-d", `refs/heads/${name}`);
    }
  }
});

// `refs/heads/docs-agent` and `refs/heads/docs-agent/job1` can't both be there.
it.each(["docs-agent", "docs-agent/x"])(
  "the base branch %s is refused: no job could have a branch",
  (name) => {
    expect(isBaseBranch(name, "docs-agent/")).toBe(false);
  },
);
