import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { JobStore } from "../../src/service/jobs/job-store.ts";
import { createKey } from "../../src/service/jobs/keys.ts";
import { withState } from "../../src/service/jobs/state-file.ts";
import { createSystemClock } from "../../src/shared/machine/clock-and-log.ts";
import { readState } from "../support/read-state.ts";
import { isSampled } from "../support/sampled.ts";
import { ServiceFolder, type ServiceProcess } from "../support/service-process.ts";

type Job = { id: string; status: string };

/** One request as a careful client makes it: again, with the same idempotency key, until there is an answer. */
async function ask(server: ServiceProcess, path: string, key: string, prompt?: string): Promise<Job | null> {
  try {
    const response = await fetch(`${server.url}${path}`, {
      method: prompt === undefined ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "idempotency-key": prompt ?? "x",
      },
      ...(prompt === undefined ? {} : { body: JSON.stringify({ prompt }) }),
    });
    expect(response.status).toBeLessThan(300);
    return (await response.json()) as Job;
  } catch (thrown) {
    if (!server.hasExited) await server.exit();
    if (thrown instanceof TypeError) return null;
    throw thrown;
  }
}

/**
 * Creates a job, gives it a message, and follows it to its end. Resolves to false if the server
 * died before.
 */
async function drive(server: ServiceProcess, key: string): Promise<boolean> {
  const job = await ask(server, "/v2/agent/quick/job", key, "one");
  if (job === null) return false;
  if ((await ask(server, `/v2/agent/quick/job/${job.id}/message`, key, "two")) === null) return false;
  for (;;) {
    const now = await ask(server, `/v2/agent/quick/job/${job.id}`, key);
    if (now === null) return false;
    if (now.status === "completed") return true;
    expect(now.status).toBe("active");
    await sleep(10);
  }
}

async function driveToDeath(folder: ServiceFolder, key: string, killAtCommit: string): Promise<boolean> {
  const server = folder.serveAndDie(killAtCommit);
  try {
    await server.wrote(/job service is ready/);
  } catch {
    return true;
  }
  return !(await drive(server, key));
}

it.each(["before", "after"])(
  "killed %s any commit, it has one job with two turns that ran to their end",
  async (phase) => {
    let commit = 1;
    for (; commit < 60; commit += 1) {
      if (!isSampled(commit)) continue;
      await using folder = await ServiceFolder.open({ quick: ["true"] });
      const config = { dataDir: folder.dir.file("data") };
      const made = await withState(config, createSystemClock(), (db) =>
        createKey(db, { prefix: "docsagent", projectId: "quick", nowMs: 0 }),
      );
      const key = made?.key ?? "";
      const hasDied = await driveToDeath(folder, key, `${phase}:${commit}`);
      if (!hasDied) break;
      expect(await drive(await folder.serve(), key)).toBe(true);
      const found = readState(config, (db) => {
        const store = new JobStore(db);
        const jobs = store.jobs({ projectId: null, status: null, limit: 10 });
        return jobs.map(({ id }) => store.turns(id).map(({ prompt, outcome }) => ({ prompt, outcome })));
      });
      expect(found).toEqual([
        [
          { prompt: "one", outcome: "no-changes" },
          { prompt: "two", outcome: "no-changes" },
        ],
      ]);
    }
    // Start, accept twice, queue twice, and for each turn start, end and the task's end.
    expect(commit).toBeGreaterThan(10);
    expect(commit).toBeLessThan(60);
  },
  600_000,
);
