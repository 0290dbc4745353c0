import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { TransientRunError } from "../../../src/service/base/run-error.ts";
import { installApp } from "../../support/github-app.ts";
import { need } from "../../support/need.ts";
import { addsPage, COMMIT_SETTINGS, FOLLOW_UP, SETTINGS } from "../../support/pull-request-texts.ts";
import { LOGIC_ONLY, openRunnerWorld } from "../../support/runner-world.ts";
import { makeSigningKey } from "../../support/signing-key.ts";
import { whileWorking } from "../../support/while-working.ts";

type World = Awaited<ReturnType<typeof openRunnerWorld>>;

const by = (world: World, branch = "docs-agent/job1") =>
  world.inBare("log", "-1", "--format=%an <%ae>%n%cn <%ce>", branch).then((text) => text.split("\n"));
const messageOf = (world: World) => world.inBare("log", "-1", "--format=%B", "docs-agent/job1");

it("are by the App's bot, whose id isn't the App's, and which is asked for once", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const { settings } = installApp(world.codeHost, world.dir.file("app.pem"));
  const asked: string[] = [];
  world.api.before = async (request) => void asked.push(request);
  const project = world.project(addsPage("one"), { codeHost: settings });
  await world.run(project);
  await world.run(project, { jobId: "job2" });
  expect(asked.filter((each) => each.includes("/users/"))).toHaveLength(1);
  const answer = await fetch(`${world.codeHost.apiUrl}/users/acme-docs-agent[bot]`);
  const { id } = (await answer.json()) as { id: number };
  expect(id).not.toBe(settings.app.id);
  const bot = `acme-docs-agent[bot] <${id}+acme-docs-agent[bot]@users.noreply.github.com>`;
  expect(await by(world)).toEqual([bot, bot]);
  expect(await by(world, "docs-agent/job2")).toEqual([bot, bot]);
});

it("are told to the service, which knows by them what people changed", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const project = world.project(addsPage("one"));
  await world.run(project);
  const first = await world.inBare("rev-parse", "docs-agent/job1");
  expect(new Set(world.told("pushed"))).toEqual(new Set([first.trim()]));
  // An attempt that died right after its push says it with the next one.
  const before = world.told("pushed").length;
  await world.run(project);
  expect(world.told("pushed").slice(before)).toEqual([first.trim()]);
});

it("are nobody's if the code host doesn't say whose, and those of the settings if these do", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  world.api.fault = (request) => (request.includes("/user") ? { kind: "http", status: 403 } : undefined);
  await world.run(world.project(addsPage("one")));
  const nobody = "Docs Agent <docs-agent@noreply.invalid>";
  expect(await by(world)).toEqual([nobody, nobody]);
  const commits = { ...COMMIT_SETTINGS, name: "Acme Docs", email: "docs@acme.example" };
  await world.run(world.project(addsPage("one"), { commits }), { jobId: "job2" });
  const acme = "Acme Docs <docs@acme.example>";
  expect(await by(world, "docs-agent/job2")).toEqual([acme, acme]);
});

it("have the pull request's title and format, wrapped lines, and a sign-off as the last one", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const said = `Corrected the port\n\n- docs/one.md: ${"it said another one, ".repeat(9)}as people found out`;
  const command = ["sh", "-c", `echo one > docs/one.md; printf '%s' "$0"`, said];
  const project = world.project(command, {
    commits: { ...COMMIT_SETTINGS, name: "Zoë", email: "zoe@acme.example", signOff: true },
    pullRequests: { ...SETTINGS, titleTemplate: "docs(site): {title}" },
  });
  await world.run(project);
  const lines = (await messageOf(world)).split("\n");
  expect(lines.slice(0, 4)).toEqual([
    "docs(site): correct the port",
    "",
    "- docs/one.md: it said another one, it said another one, it said another",
    "  one, it said another one, it said another one, it said another one, it",
  ]);
  expect(lines.slice(-4)).toEqual([
    "",
    "Docs-Agent-Job: job1",
    expect.stringMatching(/^Docs-Agent-Turn: 1-/),
    "Signed-off-by: Zoë <zoe@acme.example>",
  ]);
  expect(world.pulls()[0]?.title).toBe(lines[0]);
});

it("are signed wherever they are made, and a turn whose key can't sign says so", async () => {
  need("openssh-client");
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const keyFile = world.dir.file("signing key");
  makeSigningKey(keyFile, "");
  const email = "docs@acme.example";
  const signers = world.dir.file("signers");
  writeFileSync(signers, `${email} ${readFileSync(`${keyFile}.pub`, "utf8")}`);
  const isSigned = (branch: string) =>
    world.inBare("-c", `gpg.ssh.allowedSignersFile=${signers}`, "verify-commit", branch);
  const signedBy = (signingKeyFile: string) => ({
    commits: { name: "Acme Docs", email, signOff: true, signingKeyFile, by: "git" as const },
  });
  await world.run(world.project(addsPage("one"), signedBy(keyFile)));
  await isSigned("docs-agent/job1");
  // The turn's change goes on from the base branch.
  const { onLine, wait } = whileWorking(world, () =>
    world.asPerson("PUT", "1/merge", { merge_method: "squash" }),
  );
  const [, , second] = addsPage("two");
  const result = await world.run(world.project(["sh", "-c", wait + second], signedBy(keyFile)), {
    ...FOLLOW_UP,
    onLine,
  });
  expect(result).toMatchObject({ pullRequest: { number: 2 } });
  expect(world.progress).toContain("going on from the base branch, because the pull request was merged");
  await isSigned("docs-agent/job1");
  expect(await world.said(result)).not.toContain(readFileSync(keyFile, "utf8").split("\n")[2]);

  const locked = world.dir.file("locked");
  makeSigningKey(locked, "a passphrase");
  expect(
    await world.run(world.project(addsPage("three"), signedBy(locked)), { jobId: "job3" }),
  ).toMatchObject({
    kind: "failed",
    reason: "The commit couldn't be signed.",
    details: [expect.stringContaining("without a passphrase"), expect.stringContaining("passphrase")],
  });
});

const BY_API = { signOff: true, signingKeyFile: null, by: "api" as const };

it("are made by the code host if the settings say so, and git pushes none", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const { settings } = installApp(world.codeHost, world.dir.file("app.pem"));
  const project = (command: string[]) => world.project(command, { codeHost: settings, commits: BY_API });
  const script = `printf '\\001\\377' > docs/one.bin; rm docs/quickstart.md; echo 'Correct it'`;
  const first = await world.run(project(["sh", "-c", script]));
  expect(first).toMatchObject({ pullRequest: { number: 1, title: "Correct it", files: 2 } });
  expect(await world.inBare("diff", "--name-status", "main", "docs-agent/job1")).toBe(
    "A\tdocs/one.bin\nD\tdocs/quickstart.md",
  );
  expect(await by(world)).toEqual([
    expect.stringMatching(
      /^acme-docs-agent\[bot\] <\d+\+acme-docs-agent\[bot\]@users\.noreply\.github\.com>$/,
    ),
    "GitHub <noreply@github.com>",
  ]);
  expect(await messageOf(world)).toMatch(
    /^Correct it\n\nDocs-Agent-Job: job1\nDocs-Agent-Turn: 1-\w+\nSigned-off-by: acme-docs-agent\[bot\] <.*>$/,
  );
  // On top of it, and, once it was merged, from the base branch again.
  await world.run(project(addsPage("two")), FOLLOW_UP);
  expect(await world.commits()).toBe(2);
  await world.asPerson("PUT", "1/merge", { merge_method: "squash" });
  const earlierTurns = [...FOLLOW_UP.earlierTurns, { prompt: "More", summary: "Add two" }];
  const third = await world.run(project(addsPage("three")), { prompt: "Even more", earlierTurns });
  expect(third).toMatchObject({ pullRequest: { number: 2, files: 1 } });
  expect(await world.commits()).toBe(1);
  expect(await world.changed()).toEqual(["docs/three.md"]);
});

it("of the code host are known again where its answer was lost, and are on no branch that somebody moved", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const project = (command: string[]) => world.project(command, { commits: BY_API });
  let isLost = false;
  world.codeHost.traffic.fault = (_, body) => {
    if (isLost || !body.includes("createCommitOnBranch")) return undefined;
    isLost = true;
    return { kind: "drop-after" };
  };
  await expect(world.run(project(addsPage("one")))).rejects.toThrow(TransientRunError);
  expect(await world.commits()).toBe(1);
  const again = await world.run(project(["sh", "-c", "echo second > docs/second.md"]));
  expect(again).toMatchObject({ pullRequest: { number: 1, title: "Add one" } });
  expect(await world.changed()).toEqual(["docs/one.md"]);

  let isMoved = false;
  world.codeHost.traffic.before = async (request) => {
    if (isMoved || !request.includes("graphql")) return;
    isMoved = true;
    await world.commitTo("docs-agent/job1", { "docs/b.md": "B\n" }, "Somebody else's");
  };
  await expect(world.run(project(addsPage("two")), FOLLOW_UP)).rejects.toThrow(
    "The branch changed meanwhile.",
  );
  expect(await world.changed()).toEqual(["docs/b.md", "docs/one.md"]);
});

it("that the code host can't make are refused in words, and leave no branch", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  await world.inBare("update-ref", "refs/heads/main", await executableDocs(world));
  const project = world.project(["sh", "-c", "echo more >> docs/run.sh"], { commits: BY_API });
  expect(await world.run(project)).toMatchObject({
    kind: "failed",
    reason: "The code host can't commit docs/run.sh, because it is executable.",
  });
  await world.inBare("update-ref", "refs/heads/docs-agent", "main");
  expect(await world.run(world.project(addsPage("one"), { commits: BY_API }))).toMatchObject({
    kind: "failed",
    reason: "The branch docs-agent is in the way of the service's branch.",
  });
  await world.inBare("update-ref", "-d", "refs/heads/docs-agent");
  world.codeHost.traffic.fault = (_, body) =>
    body.includes("createCommitOnBranch")
      ? { kind: "http", status: 200, body: REFUSED, headers: { "content-type": "application/json" } }
      : undefined;
  const refused = await world.run(world.project(addsPage("one"), { commits: BY_API }));
  expect(refused).toMatchObject({ kind: "failed", reason: expect.stringContaining("no secrets") });
  expect(await world.branches()).toEqual(["main"]);
});

const REFUSED = JSON.stringify({
  data: { createCommitOnBranch: null },
  errors: [{ type: "UNPROCESSABLE", path: ["createCommitOnBranch"], message: "A rule says: no secrets" }],
});

/** A commit on the base branch with a page that is executable. */
async function executableDocs(world: World): Promise<string> {
  const blob = await world.inBare("rev-parse", "main:README.md");
  const docs = `${await world.inBare("ls-tree", "main:docs")}\n100755 blob ${blob}\trun.sh\n`;
  const makeTree = (entries: string) =>
    execFileSync("git", ["-c", "safe.directory=*", "-C", world.bare, "mktree"], { input: entries })
      .toString()
      .trim();
  const root = (await world.inBare("ls-tree", "main")).replace(
    /[0-9a-f]{40}\tdocs$/m,
    `${makeTree(docs)}\tdocs`,
  );
  return world.inBare("commit-tree", makeTree(`${root}\n`), "-p", "main", "-m", "Run");
}
