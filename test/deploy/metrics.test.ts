import { execFile } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { AppProcess } from "../support/app-process.ts";
import { parse } from "yaml";
import { z } from "zod";
import { startBoth } from "../support/both-programs.ts";
import { need } from "../support/need.ts";
import { PATIENT } from "../support/patient.ts";
import { freePort } from "../support/redis-server.ts";
import { openTempDir } from "../support/temp-dir.ts";
import { ANA, DOCS, environment, SECRETS, startSlackSide } from "../support/world.ts";

const run = promisify(execFile);
const read = (path: string) => readFileSync(fileOf(path), "utf8");
const fileOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const ALERTS = "deploy/alerts.yml";
const DASHBOARD = "deploy/grafana-dashboard.json";
const PASSES = { name: "links", command: [process.execPath, "--eval", "0"] };
const SCRIPT = [
  { write: "./docs/quickstart.md", content: "# Quickstart\n\nnpm install acme\n" },
  { say: "Add the install command\n\nThe quickstart had none." },
];

/** The metrics in a scrape: their names, each with the number of its samples. */
function namesIn(scrape: string): string[] {
  return [...scrape.matchAll(/^# TYPE (\w+) /gm)].map((match) => match[1] ?? "");
}

/** The metrics of ours that a text asks for, without what Prometheus adds to a histogram's name. */
function namesAskedFor(text: string): string[] {
  const names = [...text.matchAll(/\bdocs_agent_\w+/g)].map(([name]) => name);
  return [
    ...new Set(names.map((name) => name.replace(/_seconds_(?:bucket|sum|count)$/, "_seconds"))),
  ].toSorted();
}

/** The value of a metric, summed up over the samples that have these labels. */
function valueOf(scrape: string, name: string, labels: Record<string, string> = {}): number | undefined {
  const values = scrape.split("\n").flatMap((line) => {
    const [, its, pairs = "", value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    const isMeant =
      its === name && Object.entries(labels).every(([key, one]) => pairs.includes(`${key}="${one}"`));
    return isMeant ? [Number(value)] : [];
  });
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value);
}

const Alerts = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          annotations: z.strictObject({ summary: z.string(), description: z.string(), docs: z.string() }),
        }),
      ),
    }),
  ),
});

/** The address that a program logs. */
function addressOf({ stdout }: AppProcess): string {
  return `http://${/"address":"(?:http:\/\/)?([\d.:]+)","msg":"serves metrics"/.exec(stdout)?.[1]}`;
}

async function scrape(program: AppProcess): Promise<string> {
  const response = await fetch(`${addressOf(program)}/metrics`);
  expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  return await response.text();
}

describe("after a turn that left a pull request", () => {
  let both: Awaited<ReturnType<typeof startBoth>>;
  const scrapes = { app: "", service: "" };

  beforeAll(async () => {
    both = await startBoth(SCRIPT, {
      moreEnv: { METRICS_ADDRESS: "127.0.0.1:0" },
      settings: { verify: [PASSES] },
    });
    const { slack } = both;
    await slack.person(ANA).command({ channel: DOCS, text: "name the install command" });
    await slack.until(() => slack.messages(DOCS)[1], 60_000);
    await vi.waitUntil(async () => {
      scrapes.app = await scrape(both.app);
      scrapes.service = await scrape(both.service);
      return valueOf(scrapes.app, "docs_agent_outcome_posted_seconds_count") === 1;
    }, PATIENT);
  }, 120_000);
  afterAll(() => both?.[Symbol.asyncDispose]());

  it("both programs tell what happened, with neither secrets nor words", () => {
    const { app, service } = scrapes;
    expect(valueOf(app, "docs_agent_ready")).toBe(1);
    expect(valueOf(app, "docs_agent_turns_ended_total", { outcome: "pull-request" })).toBe(1);
    expect(valueOf(app, "docs_agent_turns_ended_total")).toBe(1);
    expect(valueOf(app, "docs_agent_first_status_seconds_count")).toBe(1);
    expect(valueOf(app, "docs_agent_dead_tasks")).toBe(0);
    expect(valueOf(app, "docs_agent_tasks", { pool: "feeds" })).toBe(1);
    expect(valueOf(service, "docs_agent_service_runner_up")).toBe(1);
    expect(valueOf(service, "docs_agent_service_turns_ended_total")).toBe(1);
    expect(valueOf(service, "docs_agent_service_agent_starts_total", { project: "docs" })).toBe(1);
    expect(valueOf(service, "docs_agent_service_turn_wait_seconds_count")).toBe(1);
    expect(valueOf(service, "docs_agent_service_turns")).toBe(0);
    expect(valueOf(service, "docs_agent_service_checks_total", { check: "links", result: "passed" })).toBe(1);
    expect(valueOf(service, "process_cpu_seconds_total", { program: "service" })).toBeGreaterThan(0);
    for (const text of [...SECRETS, "install command", "Ana", ANA, DOCS]) {
      expect(app + service).not.toContain(text);
    }
  });

  it("the docs have each metric of ours, and no other", () => {
    const ours = namesIn(scrapes.app + scrapes.service).filter((name) => name.startsWith("docs_agent_"));
    expect(namesAskedFor(read("docs/metrics.md"))).toEqual([...new Set(ours)].toSorted());
  });

  it.each([DASHBOARD, ALERTS])("%s asks only for metrics that are there", (file) => {
    const asked = namesAskedFor(read(file));
    expect(asked.length).toBeGreaterThan(10);
    expect(namesIn(scrapes.app + scrapes.service)).toEqual(expect.arrayContaining(asked));
  });

  it("promtool finds nothing to mend in the metrics", async () => {
    need("prometheus");
    const ours = (scrapes.app + scrapes.service).split("\n").filter((line) => line.includes("docs_agent_"));
    // Both programs have some of the same metrics, so each comes once.
    const lines = [...new Map(ours.map((line) => [line.replace(/program="\w+"| \S+$/g, ""), line])).values()];
    const checking = run("promtool", ["check", "metrics"]);
    checking.child.stdin?.end(`${lines.join("\n")}\n`);
    expect(await checking).toEqual({ stdout: "", stderr: "" });
  });

  it("the address has nothing but the metrics, for nothing but reading", { tags: "all" }, async () => {
    const address = addressOf(both.app);
    expect((await fetch(`${address}/`)).status).toBe(404);
    expect((await fetch(`${address}/metrics`, { method: "POST" })).status).toBe(405);
    const head = await fetch(`${address}/metrics`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect((await fetch(`${both.baseUrl}/metrics`)).status).toBe(404);
  });
});

it("promtool takes the alerts, and each of them fires when it should, and only then", async () => {
  need("prometheus");
  await using dir = await openTempDir();
  copyFileSync(fileOf(ALERTS), dir.file("alerts.yml"));
  copyFileSync(fileOf("test/fixtures/alerts-test.yml"), dir.file("alerts-test.yml"));
  const { stdout } = await run("promtool", ["check", "rules", dir.file("alerts.yml")]);
  expect(stdout).toContain("SUCCESS");
  await run("promtool", ["test", "rules", dir.file("alerts-test.yml")]);
  const names = (text: string) => new Set([...text.matchAll(/DocsAgent\w+/g)].map(([name]) => name));
  expect(names(read("test/fixtures/alerts-test.yml"))).toEqual(names(read(ALERTS)));
});

it("each alert says what it means, what to do, and which part of the docs to read", () => {
  const { groups } = Alerts.parse(parse(read(ALERTS)));
  for (const { annotations } of groups.flatMap(({ rules }) => rules)) {
    const [page = "", anchor] = annotations.docs.split("#");
    const headings = [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, text = ""]) =>
      text
        .toLowerCase()
        .replaceAll(/[^\w -]/g, "")
        .replaceAll(" ", "-"),
    );
    expect(headings).toContain(anchor);
  }
});

it("nothing is served unless an address is set, and one that is taken is named with what to do", async () => {
  await using slack = await startSlackSide();
  const port = String(await freePort());
  const env = { ...environment(slack, { baseUrl: "http://127.0.0.1:9" }), STORE_URL: "memory://" };
  await using silent = new AppProcess({ env });
  await silent.ready();
  expect(silent.stdout).not.toContain("serves metrics");
  const METRICS_ADDRESS = `127.0.0.1:${port}`;
  await using first = new AppProcess({ env: { ...env, METRICS_ADDRESS } });
  await first.ready();
  await using second = new AppProcess({ env: { ...env, METRICS_ADDRESS } });
  expect(await second.exit()).toBe(1);
  expect(second.stderr).toContain(
    `Cannot listen on 127.0.0.1 port ${port} (EADDRINUSE). Put a free port in METRICS_ADDRESS.`,
  );
  expect(second.stderr).toContain("metrics.address");
});
