import type { FullJob } from "../../src/shared/contract/job.ts";
import type { Sent } from "../../src/shared/contract/reading.ts";
import { once } from "node:events";
import { createServer } from "node:http";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { JobStore } from "../../src/service/jobs/job-store.ts";
import { createKey } from "../../src/service/jobs/keys.ts";
import { withState } from "../../src/service/jobs/state-file.ts";
import { createSystemClock } from "../../src/shared/machine/clock-and-log.ts";
import { inlineAgent } from "../support/runner-world.ts";
import { readState } from "../support/read-state.ts";
import { isSampled } from "../support/sampled.ts";
import { ServiceFolder, type ServiceProcess } from "../support/service-process.ts";

const JOBS = "/v2/agent/docs/job";
const AGENT = fileURLToPath(new URL("../fixtures/agents/acp-agent.mjs", import.meta.url));
/** Asks its model until it is refused, and then waits for its end. */
const SPENDING = inlineAgent(`
  for (let status = 200; status === 200; ) {
    const answer = await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", {
      method: "POST",
      headers: { "x-api-key": process.env.ANTHROPIC_API_KEY, "content-type": "application/json" },
      body: JSON.stringify({ model: "claude-test", max_tokens: 10, messages: [] }),
    });
    await answer.text();
    status = answer.status;
  }
  setInterval(() => {}, 1000);
`);
const ASKING = [{ permission: "execute", title: "Run it" }, { say: "Done" }];

/** One request, as a careful client makes it. Resolves to null if the server died. */
async function ask(
  server: ServiceProcess,
  key: string,
  path: string,
  body?: object,
): Promise<Sent<typeof FullJob> | null> {
  try {
    const response = await fetch(`${server.url}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "idempotency-key": JSON.stringify(body ?? "x").replaceAll(/\W/g, "-"),
        "docs-agent-capabilities": "docs-agent/1",
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    // A question that is closed by now is unknown.
    expect([200, 201, 404]).toContain(response.status);
    return (await response.json()) as Sent<typeof FullJob>;
  } catch (thrown) {
    if (!server.hasExited) await server.exit();
    if (thrown instanceof TypeError) return null;
    throw thrown;
  }
}

type Drive = (server: ServiceProcess, key: string) => Promise<boolean>;

/**
 * Two turns of an agent that never ends. Both are canceled. Resolves to false if the server died
 * before.
 */
const cancelling: Drive = async (server, key) => {
  const job = await ask(server, key, JOBS, { prompt: "one" });
  if (job === null) return false;
  if ((await ask(server, key, `${JOBS}/${job.id}/message`, { prompt: "two" })) === null) return false;
  for (const number of [1, 2]) {
    const cancelled = await ask(server, key, `${JOBS}/${job.id}/turn/${number}/cancel`, {});
    if (cancelled === null) return false;
    expect(cancelled.turns?.[number - 1]).toMatchObject({ status: "ended", outcome: "cancelled" });
  }
  return (await ask(server, key, `${JOBS}/${job.id}`)) !== null;
};

/**
 * Runs a turn to its end, and answers whatever its agent asks. Resolves to false if the server died
 * before.
 */
const answering: Drive = async (server, key) => {
  const created = await ask(server, key, JOBS, { prompt: "one" });
  if (created === null) return false;
  for (;;) {
    const job = await ask(server, key, `${JOBS}/${created.id}`);
    if (job === null) return false;
    if (job.status !== "active") return true;
    const open = job.questions?.filter(({ answeredAt }) => answeredAt === null) ?? [];
    expect(open.length).toBeLessThanOrEqual(1);
    for (const { id: questionId } of open) {
      const answered = await ask(server, key, `${JOBS}/${job.id}/answer`, { questionId, choice: "2" });
      if (answered === null) return false;
    }
    await sleep(10);
  }
};

const upstream = createServer((request, response) => {
  request.resume();
  response.setHeader("content-type", "application/json");
  response.end('{"content":[],"usage":{"input_tokens":900,"output_tokens":100}}');
});
beforeAll(async () => void (await once(upstream.listen(0, "127.0.0.1"), "listening")));
afterAll(() => void upstream.close());

type Scenario = { what: string; agent: object; drive: Drive; outcomes: string[]; reason?: RegExp };
const SCENARIOS: Scenario[] = [
  {
    what: "cancels stay",
    agent: { kind: "command", command: ["sleep", "600"] },
    drive: cancelling,
    outcomes: ["cancelled", "cancelled"],
  },
  {
    what: "a question is asked anew, and its answer taken",
    agent: {
      kind: "acp",
      command: [process.execPath, AGENT, JSON.stringify(ASKING)],
      readable: [dirname(AGENT)],
      permissions: "ask",
    },
    drive: answering,
    outcomes: ["branch"],
  },
  {
    what: "a turn ends with its budget, and says so",
    agent: { kind: "command", command: SPENDING },
    drive: answering,
    outcomes: ["failed"],
    reason: /budget of 2,500 tokens/,
  },
];

async function openFolder(agent: object) {
  const folder = await ServiceFolder.open({}, { MODEL_KEY: "sk-of-the-test-0123456789" });
  const address = upstream.address();
  const port = address === null || typeof address === "string" ? 0 : address.port;
  folder.configure({
    listen: { port: 0 },
    dataDir: "./data",
    stopGraceMinutes: 0,
    models: [{ name: "model", kind: "anthropic", baseUrl: `http://127.0.0.1:${port}`, keyEnv: "MODEL_KEY" }],
    projects: [
      {
        id: "docs",
        repository: "./docs-repository",
        agent,
        codeHost: { kind: "none" },
        budget: { tokens: 2500 },
      },
    ],
  });
  const config = { dataDir: folder.dir.file("data") };
  const made = await withState(config, createSystemClock(), (db) =>
    createKey(db, { prefix: "docsagent", projectId: "docs", nowMs: 0 }),
  );
  return { folder, config, key: made?.key ?? "" };
}

async function driveToDeath(server: ServiceProcess, key: string, drive: Drive): Promise<boolean> {
  try {
    await server.wrote(/job service is ready/);
  } catch {
    return true;
  }
  return !(await drive(server, key));
}

for (const { what, agent, drive, outcomes, reason } of SCENARIOS) {
  it.each(["before", "after"])(
    `killed %s any commit, ${what}`,
    async (phase) => {
      let commit = 1;
      for (; commit < 60; commit += 1) {
        if (!isSampled(commit)) continue;
        const { folder, config, key } = await openFolder(agent);
        await using _ = folder;
        const hasDied = await driveToDeath(folder.serveAndDie(`${phase}:${commit}`), key, drive);
        if (!hasDied) break;
        expect(await drive(await folder.serve(), key)).toBe(true);
        const found = readState(config, (db) => {
          const store = new JobStore(db);
          const jobs = store.jobs({ projectId: null, status: null, limit: 10 });
          return jobs.map(({ id }) => ({
            outcomes: store.turns(id).map(({ outcome }) => outcome),
            reason: store.turns(id)[0]?.reason ?? "",
            questions: store.questions.shown(id),
          }));
        });
        const said = expect.stringMatching(reason ?? /^/) as string;
        expect(found).toEqual([{ outcomes, reason: said, questions: [] }]);
      }
      expect(commit).toBeGreaterThan(8);
      expect(commit).toBeLessThan(60);
    },
    900_000,
  );
}
