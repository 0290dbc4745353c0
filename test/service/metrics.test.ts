import { expect, it, vi } from "vitest";
import { createServiceMetrics } from "../../src/service/service-metrics.ts";
import { addServiceGauges } from "../../src/service/service-gauges.ts";
import { openFollowingWorld } from "../support/following-world.ts";
import { PATIENT } from "../support/patient.ts";
import { makeServiceProject } from "../support/service-project.ts";
import { ServiceUnderTest } from "../support/service-under-test.ts";

const JOBS = "/v2/agent/docs/job";
const MINUTE_MS = 60_000;

/** Counts what happens from now on. Resolves to the lines of a scrape, without the program's name. */
function watched(
  subject: ServiceUnderTest,
  { jobsAtOnce = 8, isOpen = false } = {},
): () => Promise<string[]> {
  const { registry, measure } = createServiceMetrics(["docs"]);
  subject.measure = measure;
  const { service, projects, ownClock: clock, logger } = subject;
  const config = { jobsAtOnce, labels: [] };
  addServiceGauges(registry, { ...service, config, projects, runner: { isOpen }, clock, logger });
  return async () => (await registry.metrics()).replaceAll(/,?program="service"/g, "").split("\n");
}

it("tells turns that wait, are held, canceled and over, with their checks, tokens and cost", async () => {
  const limits = { createsPerHour: 100, messagesPerHour: 100, jobsAtOnce: 1, queued: 100, usdPerDay: 2 };
  await using subject = await ServiceUnderTest.start({ projects: [makeServiceProject({ limits })] });
  const scrape = watched(subject);
  const create = async () => {
    const created = await subject.ask(JOBS, { body: { prompt: "Fix the secret page" } });
    return ((await created.json()) as { id: string }).id;
  };
  const run = await subject.runner.runOf(await create());
  const canceled = await create();
  expect((await subject.ask(`${JOBS}/${canceled}/turn/1/cancel`, { method: "POST" })).status).toBe(200);
  await create();
  subject.clock.advance(MINUTE_MS);
  expect(await scrape()).toEqual(
    expect.arrayContaining([
      'docs_agent_service_turns{project="docs",state="waiting"} 1',
      'docs_agent_service_turns{project="docs",state="running"} 1',
      'docs_agent_service_oldest_turn_seconds{project="docs",state="waiting"} 60',
      'docs_agent_service_turns_ended_total{project="docs",outcome="cancelled"} 1',
      'docs_agent_service_budget_usd{project="docs",span="day"} 2',
      "docs_agent_service_runner_up{} 0",
    ]),
  );

  run.input.report({ agentRuns: true });
  run.input.report({
    usage: { inputTokens: 1000, outputTokens: 100, cachedInputTokens: 0, calls: 1, costUsd: 2.5 },
  });
  const checks = [
    { name: "links", result: "failed" as const, findings: ["one", "two", "… and 3 more"] },
    { name: "vale", result: "not-checked" as const, findings: ["there is no vale"] },
  ];
  run.end({ kind: "no-changes", summary: "The secret page", checks });
  const lines = await vi.waitFor(async () => {
    subject.clock.advance(MINUTE_MS);
    const found = await scrape();
    expect(found).toContain('docs_agent_service_turns{project="docs",state="held"} 1');
    return found;
  }, PATIENT);
  expect(lines).toEqual(
    expect.arrayContaining([
      'docs_agent_service_turns{project="docs",state="running"} 0',
      'docs_agent_service_turns_ended_total{project="docs",outcome="no-changes"} 1',
      'docs_agent_service_agent_starts_total{project="docs"} 1',
      'docs_agent_service_cost_usd_total{project="docs"} 2.5',
      'docs_agent_service_tokens_total{project="docs",direction="input"} 1000',
      'docs_agent_service_checks_total{project="docs",check="links",result="failed"} 1',
      'docs_agent_service_checks_total{project="docs",check="vale",result="not-checked"} 1',
      'docs_agent_service_check_findings_total{project="docs",check="links"} 5',
      'docs_agent_service_spent_usd{project="docs",span="day"} 2.5',
    ]),
  );
  expect(lines.join("\n")).not.toContain("secret");
});

it("tells open pull requests by state and age, and those that were merged", async () => {
  await using world = await openFollowingWorld();
  const scrape = watched(world.service);
  const { pull } = await world.job();
  await world.pass(3 * MINUTE_MS);
  const lines = await scrape();
  expect(lines).toContain('docs_agent_service_pull_requests{project="docs",state="waiting"} 1');
  const age = lines.find((line) =>
    /oldest_pull_request_seconds\{project="docs",state="waiting"\}/.test(line),
  );
  expect(Number(age?.split(" ")[1])).toBeGreaterThanOrEqual(180);

  await world.mine.pulls.merge(pull);
  await world.pass(3 * MINUTE_MS);
  expect(await scrape()).toEqual(
    expect.arrayContaining([
      'docs_agent_service_pull_requests{project="docs",state="waiting"} 0',
      'docs_agent_service_oldest_pull_request_seconds{project="docs",state="waiting"} 0',
      'docs_agent_service_pull_requests_ended_total{project="docs",state="merged"} 1',
    ]),
  );
});

it("tells runners by state, their free places, and how many take a project's turns", async () => {
  const projects = [
    makeServiceProject(),
    makeServiceProject({ id: "api", runners: { labels: ["large"] } }),
    makeServiceProject({ id: "web", runners: { labels: ["huge"] } }),
  ];
  await using subject = await ServiceUnderTest.start({ projects });
  const { runners } = subject.service;
  const add = (name: string, ids: string[] | null) =>
    runners.add({ keyPrefix: "docsagent", name, projects: ids, nowMs: subject.clock.now() })?.id ?? "";
  const ids = [add("one", null), add("two", ["api"]), add("three", null), add("four", null)];
  const [one = "", two = "", three = ""] = ids;
  add("never-seen", null);
  const says = { version: "1", protocol: 1, session: "s", labels: ["large"], places: 4, free: 3 };
  const call = (names: string[]) => {
    for (const id of names) runners.saw(id, says, subject.clock.now());
  };
  call(ids);
  runners.setDraining(three, true);
  runners.revoke(ids[3] ?? "", subject.clock.now());
  const own = watched(subject, { isOpen: true });
  const none = watched(subject, { jobsAtOnce: 0 });
  expect(await own()).toEqual(
    expect.arrayContaining([
      "docs_agent_service_runner_up{} 1",
      'docs_agent_service_runners{state="ready"} 2',
      'docs_agent_service_runners{state="draining"} 1',
      'docs_agent_service_runners{state="away"} 1',
      "docs_agent_service_runner_free_places{} 6",
      'docs_agent_service_project_runners{project="docs"} 2',
      'docs_agent_service_project_runners{project="api"} 2',
      'docs_agent_service_project_runners{project="web"} 0',
    ]),
  );
  subject.clock.advance(MINUTE_MS + 1);
  call([two]);
  const lines = await none();
  // Nobody is told that a runner is missing that there isn't meant to be.
  expect(lines.filter((line) => line.startsWith("docs_agent_service_runner_up"))).toEqual([]);
  expect(lines).toEqual(
    expect.arrayContaining([
      'docs_agent_service_runners{state="ready"} 1',
      'docs_agent_service_runners{state="draining"} 0',
      'docs_agent_service_runners{state="away"} 3',
      "docs_agent_service_runner_free_places{} 3",
      'docs_agent_service_project_runners{project="docs"} 0',
      'docs_agent_service_project_runners{project="api"} 1',
    ]),
  );
  expect(lines.join("\n")).not.toContain(one);
});
