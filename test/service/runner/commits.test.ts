import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { installApp } from "../../support/github-app.ts";
import { need } from "../../support/need.ts";
import { SETTINGS } from "../../support/pull-request-texts.ts";
import { LOGIC_ONLY, openRunnerWorld } from "../../support/runner-world.ts";
import { whileWorking } from "../../support/while-working.ts";

type World = Awaited<ReturnType<typeof openRunnerWorld>>;

const writes = (page: string) => ["sh", "-c", `echo ${page} > docs/${page}.md; echo Add ${page}`];
const by = (world: World, branch = "docs-agent/job1") =>
  world.inBare("log", "-1", "--format=%an <%ae>%n%cn <%ce>", branch).then((text) => text.split("\n"));
const messageOf = (world: World) => world.inBare("log", "-1", "--format=%B", "docs-agent/job1");
const NOT_SIGNED = { signOff: false, signingKeyFile: null };

it("are by the App's bot, whose id isn't the App's, and which is asked for once", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const { settings } = installApp(world.codeHost, world.dir.file("app.pem"));
  const asked: string[] = [];
  world.api.before = async (request) => void asked.push(request);
  const project = world.project(writes("one"), { codeHost: settings });
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

it("are nobody's if the code host doesn't say whose, and those of the settings if these do", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  world.api.fault = (request) => (request.includes("/user") ? { kind: "http", status: 403 } : undefined);
  await world.run(world.project(writes("one")));
  const nobody = "Docs Agent <docs-agent@noreply.invalid>";
  expect(await by(world)).toEqual([nobody, nobody]);
  const commits = { ...NOT_SIGNED, name: "Acme Docs", email: "docs@acme.example" };
  await world.run(world.project(writes("one"), { commits }), { jobId: "job2" });
  const acme = "Acme Docs <docs@acme.example>";
  expect(await by(world, "docs-agent/job2")).toEqual([acme, acme]);
});

it("have the pull request's title and format, wrapped lines, and a sign-off as the last one", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const said = `Corrected the port\n\n- docs/one.md: ${"it said another one, ".repeat(9)}as people found out`;
  const command = ["sh", "-c", `echo one > docs/one.md; printf '%s' "$0"`, said];
  const project = world.project(command, {
    commits: { ...NOT_SIGNED, name: "Zoë", email: "zoe@acme.example", signOff: true },
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
  const makeKey = (file: string, passphrase: string) =>
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", passphrase, "-C", "", "-f", file]);
  makeKey(keyFile, "");
  const email = "docs@acme.example";
  const signers = world.dir.file("signers");
  writeFileSync(signers, `${email} ${readFileSync(`${keyFile}.pub`, "utf8")}`);
  const isSigned = (branch: string) =>
    world.inBare("-c", `gpg.ssh.allowedSignersFile=${signers}`, "verify-commit", branch);
  const signedBy = (signingKeyFile: string) => ({
    commits: { name: "Acme Docs", email, signOff: true, signingKeyFile },
  });
  await world.run(world.project(writes("one"), signedBy(keyFile)));
  await isSigned("docs-agent/job1");
  // The turn's change goes on from the base branch.
  const { onLine, wait } = whileWorking(world, () =>
    world.asPerson("PUT", "1/merge", { merge_method: "squash" }),
  );
  const [, , second = ""] = writes("two");
  const result = await world.run(world.project(["sh", "-c", wait + second], signedBy(keyFile)), {
    prompt: "More",
    earlierTurns: [{ prompt: "Fix the typo", summary: "Add one" }],
    onLine,
  });
  expect(result).toMatchObject({ pullRequest: { number: 2 } });
  expect(world.progress).toContain("going on from the base branch, because the pull request was merged");
  await isSigned("docs-agent/job1");
  expect(await world.said(result)).not.toContain(readFileSync(keyFile, "utf8").split("\n")[2]);

  const locked = world.dir.file("locked");
  makeKey(locked, "a passphrase");
  expect(await world.run(world.project(writes("three"), signedBy(locked)), { jobId: "job3" })).toMatchObject({
    kind: "failed",
    reason: "The commit couldn't be signed.",
    details: [expect.stringContaining("without a passphrase"), expect.stringContaining("passphrase")],
  });
});
