import { setTimeout as sleep } from "node:timers/promises";
import { sign } from "@octokit/webhooks-methods";
import { expect, it } from "vitest";
import { JobStore } from "../../src/service/jobs/job-store.ts";
import { createKey } from "../../src/service/jobs/keys.ts";
import { withState } from "../../src/service/jobs/state-file.ts";
import { createSystemClock } from "../../src/shared/machine/clock-and-log.ts";
import { openPullRequest, openTestHost, OWNER, REPO, TOKEN } from "../world/code-host/setup.ts";
import { isSampled } from "../support/sampled.ts";
import { ServiceFolder, type ServiceProcess } from "../support/service-process.ts";

const SECRET = "webhook-secret-0123456789";

/**
 * Waits until the job's record shows this state of its pull request. Resolves to false if the
 * server died before.
 */
async function shows(server: ServiceProcess, key: string, state: string): Promise<boolean> {
  for (;;) {
    try {
      const headers = { authorization: `Bearer ${key}`, "docs-agent-capabilities": "docs-agent/1" };
      const answer = await fetch(`${server.url}/v2/agent/docs/job/a`, { headers });
      const job = (await answer.json()) as { pullRequest: { state: string } | null };
      if (job.pullRequest?.state === state) return true;
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

it.each(["before", "after"])(
  "killed %s any commit, it comes to know that the pull request was merged",
  async (phase) => {
    let commit = 1;
    for (; commit < 40; commit += 1) {
      if (!isSampled(commit)) continue;
      await using site = await openTestHost();
      const number = await openPullRequest(site, "docs-agent/a", { "a.md": "a\n" });
      await using folder = await ServiceFolder.open({}, { TOKEN, SECRET });
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
      const project = { id: "docs", repository: "./docs-repository", agent, codeHost };
      folder.change({ containment: "none", projects: [project] });
      const made = await withState({ dataDir: folder.dir.file("data") }, createSystemClock(), (db) => {
        db.exec(
          "INSERT INTO jobs (id, project_id, repository, ref, model, created_at, active_at) VALUES ('a', 'docs', '', '', '', 0, 0)",
        );
        new JobStore(db).followed.begin("a", `${site.host.url}/${OWNER}/${REPO}/pull/${number}`, [], 1);
        return createKey(db, { prefix: "docsagent", projectId: "docs", nowMs: 0 });
      });
      const key = made?.key ?? "";
      const merge = () => site.octokit.rest.pulls.merge({ owner: OWNER, repo: REPO, pull_number: number });

      const dying = folder.serveAndDie(`${phase}:${commit}`);
      const isReady = await dying.wrote(/job service is ready/).then(
        () => true,
        () => false,
      );
      const wasOpen = isReady && (await shows(dying, key, "open"));
      await merge();
      if (wasOpen) await tell(dying, number);
      if (wasOpen && (await shows(dying, key, "merged"))) break;
      expect(await shows(await folder.serve(), key, "merged")).toBe(true);
    }
    expect(commit).toBeGreaterThan(5);
    expect(commit).toBeLessThan(40);
  },
  300_000,
);
