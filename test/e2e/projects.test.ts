// @module-tag all

import { describe, expect, it } from "vitest";
import { DEFAULT_API_KEY } from "../../world/job-service/side.ts";
import { ANA, DOCS, World } from "../support/world.ts";

const PR = "https://github.com/acme/docs/pull/7";
const HOUR_MS = 3_600_000;

type Env = Record<string, string | undefined>;

const one: Env = { DOCS_AGENT_PROJECT_ID: "docs", DOCS_AGENT_PROJECTS: undefined };
const several = (names: [name: string, id: string][]): Env => ({
  DOCS_AGENT_PROJECT_ID: undefined,
  DOCS_AGENT_PROJECTS: JSON.stringify(names.map(([name, id]) => ({ name, id }))),
});

const changes: [string, Env, Env][] = [
  ["is renamed", several([["docs", "docs"]]), several([["handbook", "docs"]])],
  [
    "becomes one of several, not the first",
    one,
    several([
      ["api", "api"],
      ["docs", "docs"],
    ]),
  ],
  [
    "and another one swap names",
    several([
      ["docs", "docs"],
      ["api", "api"],
    ]),
    several([
      ["api", "docs"],
      ["docs", "api"],
    ]),
  ],
  [
    "of several is the only one that is left",
    several([
      ["api", "api"],
      ["docs", "docs"],
    ]),
    one,
  ],
];

describe.each(changes)("a project that %s while its jobs run", (_, before, after) => {
  const jobService = { projects: { docs: { apiKey: DEFAULT_API_KEY }, api: { apiKey: DEFAULT_API_KEY } } };
  const ask = before["DOCS_AGENT_PROJECTS"]?.includes('"api"') ? "project=docs " : "";

  it("keeps them: the watched one, the one that waits to be created, and one that is watched again", async () => {
    const env: Env = { ...before, JOB_DEADLINE_MS: String(HOUR_MS) };
    await using world = await World.start({ env, jobService });
    const { slack, service } = world;
    await slack.person(ANA).command({ channel: DOCS, text: `${ask}fix page one` });
    await world.pass(HOUR_MS + 60_000);
    const expired = slack.messages(DOCS)[1];
    await slack.person(ANA).command({ channel: DOCS, text: `${ask}fix page two` });
    await world.until(() => service.creates.length === 2);
    service.faults.add({ op: "create", fault: { kind: "status", status: 503 } });
    await slack.person(ANA).command({ channel: DOCS, text: `${ask}fix page three` });
    await world.pass(30_000);

    await world.stopApp();
    Object.assign(env, after);
    await world.startApp();
    service.faults.clear();
    await slack.person(ANA).click({ channel: DOCS, messageTs: expired?.ts ?? "", actionId: "keep_watching" });
    await world.until(() => service.creates.length === 3);
    expect(service.creates.map(({ projectId }) => projectId)).toEqual(["docs", "docs", "docs"]);
    for (const { jobId } of service.creates) service.finish(jobId, { status: "completed", prLink: PR });
    await world.pass(HOUR_MS);
    const roots = slack.messages(DOCS).filter(({ thread_ts, ts }) => (thread_ts ?? ts) === ts);
    expect(roots).toHaveLength(3);
    for (const root of roots) {
      expect(slack.visibleText(root)).toContain("✅ acme/docs#");
      expect(slack.visibleText(world.replies(DOCS, root.ts).at(-1) ?? root)).toContain("[View pull request]");
    }
  });
});
