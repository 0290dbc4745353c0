import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { createCodeHost } from "../../../world/code-host/index.ts";
import { CodeHostTokens } from "../../../src/service/pulls/code-host/code-host-tokens.ts";
import { createSystemClock } from "../../../src/shared/machine/clock-and-log.ts";
import { APP_KEY_LINE, installApp } from "../../support/github-app.ts";
import { LaterClock } from "../../../world/clock/later-clock.ts";
import { inlineAgent, LOGIC_ONLY, openRunnerWorld } from "../../support/runner-world.ts";
import { openTempDir } from "../../support/temp-dir.ts";

const FIX = 'fs.appendFileSync("docs/quickstart.md", "More.\\n")';
const MINUTE_MS = 60_000;

/** The command lines of all processes of this machine. */
function commandLines(): string {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8");
      } catch {
        return "";
      }
    })
    .join("\n");
}

it("opens a pull request by an App's token, which the agent, the log and command lines never have", async () => {
  await using world = await openRunnerWorld();
  const { settings } = installApp(world.codeHost, world.dir.file("app.pem"));
  const { minted } = world.codeHost.apps;
  const during: string[] = [];
  world.gitHttp.before = async () => void during.push(commandLines());
  const looks = `
    let seen = JSON.stringify(process.env);
    for (const name of fs.readdirSync("/proc")) for (const file of ["environ", "cmdline"])
      try { seen += fs.readFileSync("/proc/" + name + "/" + file, "utf8"); } catch {}
    try { seen += fs.readFileSync(${JSON.stringify(settings.app.keyFile)}, "utf8"); } catch {}
    fs.writeFileSync("docs/seen.md", Buffer.from(seen).toString("hex"));
    ${FIX}`;
  delete world.env["DOCS_TOKEN"];
  const result = await world.run(world.project(inlineAgent(looks), { codeHost: settings }));
  expect(result).toMatchObject({ kind: "pull-request", prLink: `${world.codeHost.url}/acme/docs/pull/1` });
  expect(world.codeHost.traffic.requests.some((each) => each.includes("git-receive-pack"))).toBe(true);
  // One for git and the API.
  expect(minted).toHaveLength(1);
  expect(minted[0]?.repositories).toEqual(["docs"]);
  const token = minted[0]?.token ?? "";
  const seen = Buffer.from(await world.show("docs/seen.md"), "hex").toString("utf8");
  expect(seen).toContain("PATH");
  const everywhere = [seen, ...during, await world.said(result), await world.stored()].join("\n");
  for (const secret of [token, Buffer.from(`x-access-token:${token}`).toString("base64"), APP_KEY_LINE]) {
    expect(everywhere).not.toContain(secret);
  }
});

it(
  "renews a token before it ends, and one that was revoked meanwhile, for the API and for git",
  { tags: "all" },
  async () => {
    const clock = new LaterClock();
    await using world = await openRunnerWorld({ clock, containment: "none" });
    const { settings } = installApp(world.codeHost, world.dir.file("app.pem"));
    const { apps } = world.codeHost;
    const project = world.project(inlineAgent(FIX), { codeHost: settings });
    // After the fetch: the push and the API find it revoked.
    let isRevoked = false;
    world.api.before = async (request) => {
      if (isRevoked || !request.includes("/pulls")) return;
      isRevoked = true;
      apps.revokeAll();
    };
    expect(await world.run(project)).toMatchObject({ kind: "pull-request" });
    expect(apps.minted).toHaveLength(2);
    apps.revokeAll();
    const earlierTurns = [{ prompt: "Fix the typo", summary: null }];
    expect(await world.run(project, { earlierTurns })).toMatchObject({ kind: "pull-request" });
    expect(apps.minted).toHaveLength(3);
    clock.laterMs = 49 * MINUTE_MS;
    const more = [...earlierTurns, { prompt: "More", summary: null }];
    expect(await world.run(project, { earlierTurns: more })).toMatchObject({ kind: "pull-request" });
    expect(apps.minted).toHaveLength(3);
    clock.laterMs = 51 * MINUTE_MS;
    const most = [...more, { prompt: "Most", summary: null }];
    expect(await world.run(project, { earlierTurns: most })).toMatchObject({ kind: "pull-request" });
    expect(apps.minted).toHaveLength(4);
  },
);

it("says why an App can't be used, and what the operator can do", async () => {
  await using world = await openRunnerWorld(LOGIC_ONLY);
  const { settings, installation } = installApp(world.codeHost, world.dir.file("app.pem"));
  const tryIt = async (codeHost: object = {}) => {
    world.restart();
    const project = world.project(inlineAgent(FIX), { codeHost: { ...settings, ...codeHost } });
    const result = await world.run(project, { jobId: `job${Math.random().toString(36).slice(2)}` });
    return result.kind === "failed" ? [result.reason, ...(result.details ?? [])].join(" ") : result.kind;
  };
  const { app } = settings;
  expect(await tryIt({ app: { ...app, installationId: 78 } })).toMatch(
    /doesn't know the installation.*Install App 12.*Not Found/,
  );
  expect(await tryIt({ repo: "other" })).toMatch(/isn't installed on the repository\. Add the repository/);
  expect(await tryIt({ app: { ...app, keyFile: "/nope.pem" } })).toMatch(
    /There is no \/nope\.pem\. Generate/,
  );
  writeFileSync(world.dir.file("other.pem"), "a key, but not a good one");
  expect(await tryIt({ app: { ...app, keyFile: world.dir.file("other.pem") } })).toMatch(
    /other\.pem isn't a private key \(PEM\)/,
  );
  expect(await tryIt({ app: { ...app, id: 13 } })).toMatch(
    /refused the key of the service's App.*is a key of App 13.*clock/,
  );
  installation.permissions["pull_requests"] = "read";
  expect(await tryIt()).toMatch(
    /lacks a permission.*Give App 12 \(installation 77\) the permission pull_requests: write\. Then accept that/,
  );
  installation.isSuspended = true;
  expect(await tryIt()).toMatch(/App is suspended at the code host\. Unsuspend its installation/);
  installation.isSuspended = false;
  installation.permissions["pull_requests"] = "write";
  expect(await tryIt()).toBe("pull-request");
});

it("asks once for all who need a token at once, also where the first of them is gone", async () => {
  await using dir = await openTempDir();
  // Their clock is two hours ahead of ours.
  const now = () => new Date(Date.now() + 120 * MINUTE_MS);
  await using codeHost = await createCodeHost({ dataDir: dir.file("host"), tokens: [], now });
  const { settings } = installApp(codeHost, dir.file("app.pem"));
  const tokens = new CodeHostTokens({ env: {}, clock: createSystemClock() });
  const gone = new AbortController();
  codeHost.traffic.before = async () => gone.abort(new Error("gone"));
  const { signal } = new AbortController();
  const [left, ...all] = await Promise.allSettled([
    tokens.of(settings).token(gone.signal),
    ...Array.from({ length: 20 }, () => tokens.of(settings).token(signal)),
  ]);
  expect(left).toMatchObject({ status: "rejected", reason: { message: "gone" } });
  const [minted, ...more] = codeHost.apps.minted;
  expect(more).toEqual([]);
  expect(all).toEqual(all.map(() => ({ status: "fulfilled", value: minted?.token })));
  // Git at another host gets nothing of it.
  const repository = "https://elsewhere.example/acme/docs.git";
  expect(tokens.forGit({ codeHost: settings, gitCredentialsEnv: null, repository })).toBeNull();
});
