import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { sign } from "@octokit/webhooks-methods";
import { expect, it } from "vitest";
import { JobStore } from "../../src/service/jobs/job-store.ts";
import { createKey } from "../../src/service/jobs/keys.ts";
import { withState } from "../../src/service/jobs/state-file.ts";
import { createSystemClock } from "../../src/shared/machine/clock-and-log.ts";
import { openPullRequest, openTestHost, OWNER, REPO, TOKEN } from "../world/code-host/setup.ts";
import { closeNow, listenOnLoopback } from "../../world/loopback-server.ts";
import { readState } from "../support/read-state.ts";
import { isSampled } from "../support/sampled.ts";
import { ServiceFolder, type ServiceProcess } from "../support/service-process.ts";

const WORDS = "You receive a key by mail, and keep it for a year.\n";
const SECRET = "webhook-secret-0123456789";

type Shown = { state: string; live?: string };

/**
 * Waits until the job's record shows this of its pull request. Resolves to false if the server died
 * before.
 */
async function shows(server: ServiceProcess, key: string, what: Partial<Shown>): Promise<boolean> {
  for (;;) {
    try {
      const headers = { authorization: `Bearer ${key}`, "docs-agent-capabilities": "docs-agent/1" };
      const answer = await fetch(`${server.url}/v2/agent/docs/job/a`, { headers });
      const job = (await answer.json()) as { pullRequest: Shown | null };
      const is = (name: keyof Shown) => what[name] === undefined || job.pullRequest?.[name] === what[name];
      if (is("state") && is("live")) return true;
      await sleep(20);
    } catch (thrown) {
      if (!server.hasExited) await server.exit();
      if (thrown instanceof TypeError) return false;
      throw thrown;
    }
  }
}

/** Tells of the pull request, as a code host does: once. */
async function tell(server: ServiceProcess, number: number): Promise<void> {
  const repository = { full_name: `${OWNER}/${REPO}` };
  const body = JSON.stringify({ repository, pull_request: { number } });
  const headers = { "x-hub-signature-256": await sign(SECRET, body) };
  await fetch(`${server.url}/webhooks/docs`, { method: "POST", headers, body }).catch(() => {});
}

type Site = Awaited<ReturnType<typeof openTestHost>>;

/** A service whose only job has left an open pull request, and a key to read it with. */
async function openFolder(site: Site, settings: object = {}) {
  const number = await openPullRequest(site, "docs-agent/a", { "docs/a.md": WORDS });
  const folder = await ServiceFolder.open({}, { TOKEN, SECRET });
  const codeHost = {
    kind: "github",
    apiUrl: site.host.apiUrl,
    owner: OWNER,
    repo: REPO,
    tokenEnv: "TOKEN",
    webhookSecretEnv: "SECRET",
    pollSeconds: 5,
  };
  const agent = { kind: "command", command: ["true"] };
  const project = { id: "docs", repository: "./docs-repository", agent, codeHost, ...settings };
  folder.change({ containment: "none", projects: [project] });
  const config = { dataDir: folder.dir.file("data") };
  const made = await withState(config, createSystemClock(), (db) => {
    db.exec(
      "INSERT INTO jobs (id, project_id, repository, ref, model, created_at, active_at) VALUES ('a', 'docs', '', '', '', 0, 0)",
    );
    new JobStore(db).followed.begin("a", `${site.host.url}/${OWNER}/${REPO}/pull/${number}`, [], 1);
    return createKey(db, { prefix: "docsagent", projectId: "docs", nowMs: 0 });
  });
  const merge = () => site.octokit.rest.pulls.merge({ owner: OWNER, repo: REPO, pull_number: number });
  return { folder, config, number, key: made?.key ?? "", merge };
}

const isReady = (server: ServiceProcess) =>
  server.wrote(/job service is ready/).then(
    () => true,
    () => false,
  );

/** The tasks that look for the change on the site, as they are on the disk. */
const liveTasks = (config: { dataDir: string }) =>
  readState(config, (db) => db.prepare("SELECT id, state FROM tasks WHERE type = 'live'").all());

it.each(["before", "after"])(
  "killed %s any commit, it comes to know that the pull request was merged, and will look for the change once",
  async (phase) => {
    let commit = 1;
    for (; commit < 40; commit += 1) {
      if (!isSampled(commit)) continue;
      await using site = await openTestHost();
      const liveUrl = "https://docs.example/{path}";
      const { folder, config, number, key, merge } = await openFolder(site, { liveUrl });
      await using _ = folder;
      const dying = folder.serveAndDie(`${phase}:${commit}`);
      const wasOpen = (await isReady(dying)) && (await shows(dying, key, { state: "open" }));
      await merge();
      if (wasOpen) await tell(dying, number);
      if (wasOpen && (await shows(dying, key, { state: "merged" }))) break;
      expect(await shows(await folder.serve(), key, { state: "merged" })).toBe(true);
      expect(liveTasks(config)).toEqual([{ id: `live:a:${number}`, state: "waiting" }]);
    }
    expect(commit).toBeGreaterThan(5);
    expect(commit).toBeLessThan(40);
  },
  300_000,
);

it.each(["before", "after"])(
  "killed %s any commit, it tells where the merged change is live, and then looks no more",
  async (phase) => {
    const page = createServer((_, response) => {
      response.writeHead(200, { "content-type": "text/html" }).end(`<p>${WORDS}</p>`);
    });
    const base = `http://127.0.0.1:${await listenOnLoopback(page, 0)}`;
    let commit = 1;
    for (; commit < 40; commit += 1) {
      if (!isSampled(commit)) continue;
      await using site = await openTestHost();
      const { folder, config, key, merge } = await openFolder(site, { liveUrl: `${base}/{docs/path}` });
      await using _ = folder;
      await merge();
      const before = await folder.serve();
      expect(await shows(before, key, { state: "merged" })).toBe(true);
      before.signal("SIGTERM");
      await before.exit();
      // The minute passes in which nothing is looked for.
      await withState(config, createSystemClock(), (db) =>
        db.exec("UPDATE tasks SET due_at = 0 WHERE type = 'live'"),
      );
      const live = { live: `${base}/a` };
      const dying = folder.serveAndDie(`${phase}:${commit}`);
      if ((await isReady(dying)) && (await shows(dying, key, live))) break;
      expect(await shows(await folder.serve(), key, live)).toBe(true);
      await expect.poll(() => liveTasks(config), { timeout: 30_000 }).toMatchObject([{ state: "done" }]);
    }
    await closeNow(page);
    expect(commit).toBeGreaterThan(1);
    expect(commit).toBeLessThan(40);
  },
  600_000,
);
