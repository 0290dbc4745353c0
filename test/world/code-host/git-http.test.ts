// @module-tag all

import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { writeFiles } from "../../support/repository-of.ts";
import { FILES, git, openTestHost, OWNER, REPO, TOKEN } from "./setup.ts";

it("serves a clone to anyone", async () => {
  await using test = await openTestHost();
  const work = await test.clone("work");
  expect(await readFile(join(work.path, "README.md"), "utf8")).toContain("# Tidepool");
  expect((await work.git("branch", "--show-current")).trim()).toBe("main");
});

it("takes a push with the token, by Basic and by Bearer", async () => {
  await using test = await openTestHost();
  const work = await test.clone("work");
  await work.push("basic", { "a.md": "a\n" });
  await work.git("checkout", "--quiet", "-b", "bearer");
  const bearer = `http.extraHeader=Authorization: Bearer ${TOKEN}`;
  await git(work.path, ["-c", bearer, "push", "--quiet", "origin", "bearer"], null);
  const { data } = await test.octokit.rest.repos.getBranch({ owner: OWNER, repo: REPO, branch: "bearer" });
  expect(data.commit.sha).toBe((await work.git("rev-parse", "HEAD")).trim());
});

it.each([
  ["no token", null],
  ["a wrong token", "guess"],
])("refuses a push with %s", async (_name, token) => {
  await using test = await openTestHost();
  const work = await test.clone("work");
  await expect(git(work.path, ["push", "origin", "main:other"], token)).rejects.toThrow(
    /Authentication failed|could not read Username/,
  );
});

it("takes a push of 5 MB that nothing can compress, and gives it back", { tags: "nightly" }, async () => {
  await using test = await openTestHost();
  const work = await test.clone("work");
  const big = randomBytes(2_500_000).toString("hex");
  await work.push("big", { "big.txt": big });
  const again = await test.clone("again");
  await again.git("checkout", "--quiet", "big");
  expect(await readFile(join(again.path, "big.txt"), "utf8")).toBe(big);
});

it("keeps its own refs to itself", async () => {
  await using test = await openTestHost();
  const work = await test.clone("work");
  await expect(work.git("push", "origin", "main:refs/pull/1/head")).rejects.toThrow(/hidden ref|deny/);
});

it("does not let the default branch be deleted", async () => {
  await using test = await openTestHost();
  const work = await test.clone("work");
  await expect(work.git("push", "origin", ":main")).rejects.toThrow(/refusing to delete|deletion/i);
});

it("reads a gzipped request", async () => {
  await using test = await openTestHost();
  const work = await test.clone("work");
  const sha = (await work.git("rev-parse", "HEAD")).trim();
  const line = (text: string) => `${(text.length + 4).toString(16).padStart(4, "0")}${text}`;
  const body = gzipSync(`${line(`want ${sha}\n`)}0000${line("done\n")}`);
  const answer = await fetch(`${test.host.gitUrl(OWNER, REPO)}/git-upload-pack`, {
    method: "POST",
    headers: { "content-type": "application/x-git-upload-pack-request", "content-encoding": "gzip" },
    body,
  });
  expect(answer.status).toBe(200);
  expect(Buffer.from(await answer.arrayBuffer()).includes("PACK")).toBe(true);
});

it.each([
  ["GET", "/info/refs", 403],
  ["GET", "/info/refs?service=git-shell", 403],
  ["POST", "/git-receive-pack", 401],
  ["GET", "/HEAD", 404],
  ["GET", "/objects/info/packs", 404],
  ["GET", "/config", 404],
  ["GET", "/..%2f..%2fpull-requests/tidepool/docs.json", 404],
])("%s %s is %i", async (method, path, status) => {
  await using test = await openTestHost();
  const answer = await fetch(`${test.host.gitUrl(OWNER, REPO)}${path}`, { method });
  expect(answer.status).toBe(status);
});

it.each(["..", "other", "docs%2f..%2fdocs", "%2e%2e%2fdocs", "-upload-pack"])(
  "knows no repository %s",
  async (name) => {
    await using test = await openTestHost();
    const answer = await fetch(`${test.host.url}/${OWNER}/${name}.git/info/refs?service=git-upload-pack`);
    expect(answer.status).toBe(404);
  },
);

it("answers to no name but its own", async () => {
  await using test = await openTestHost();
  const { request } = await import("node:http");
  const status = await new Promise((resolve, reject) => {
    request(test.host.url, { headers: { host: "evil.example" } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end();
  });
  expect(status).toBe(403);
});

it("compares a commit that it didn't know when it was first asked", async () => {
  await using test = await openTestHost();
  const work = await test.clone("work");
  await work.git("commit", "--quiet", "--allow-empty", "-m", "More");
  const sha = (await work.git("rev-parse", "HEAD")).trim();
  const compare = () =>
    test.octokit.rest.repos.compareCommits({ owner: OWNER, repo: REPO, base: "main", head: sha });
  await expect(compare()).rejects.toThrow(/Not Found/);
  await work.git("push", "--quiet", "origin", "HEAD:refs/heads/more");
  expect((await compare()).data).toMatchObject({ status: "ahead", ahead_by: 1 });
});

it("makes a repository once, and only under a name that can be one", async () => {
  await using test = await openTestHost();
  await writeFiles(test.folder("from"), FILES);
  expect(await test.host.createRepository(OWNER, REPO, test.folder("from"))).toBe(false);
  expect(await test.host.createRepository(OWNER, "other", test.folder("from"))).toBe(true);
  for (const name of ["../out", "a/b", ".git", "-x", "x.git", "", "a..b"]) {
    await expect(test.host.createRepository(OWNER, name, test.folder("from"))).rejects.toThrow(/cannot name/);
  }
});
