import { expect, it } from "vitest";
import type { Usage } from "../../src/shared/contract/turn.ts";
import type { UsageSum } from "../../src/service/jobs/usage-sums.ts";
import { openFollowingWorld } from "../support/following-world.ts";
import { resultNamed } from "../support/scripted-runner.ts";
import { ServiceUnderTest } from "../support/service-under-test.ts";

const JOBS = "/v2/agent/docs/job";
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

type Format = "table" | "csv" | "json";

function usage(
  { service, clock }: ServiceUnderTest,
  by: "project" | "person",
  format: Format,
  { sinceMs = clock.now() - 30 * DAY_MS, project = null }: { sinceMs?: number; project?: string | null } = {},
): string {
  return service.runCommand({ name: "usage", sinceMs, by, project, format }).text;
}

function rows(subject: ServiceUnderTest, by: "project" | "person"): UsageSum[] {
  return (JSON.parse(usage(subject, by, "json")) as { rows: UsageSum[] }).rows;
}

const used: Usage = { inputTokens: 1200, outputTokens: 34, cachedInputTokens: 0, calls: 2, costUsd: 0.25 };

/** Somebody asks, and the turn ends like this. */
async function ask(
  subject: ServiceUnderTest,
  who: { id: string; name: string } | null,
  how: Parameters<typeof resultNamed>[1],
  costUsd: number | null,
): Promise<void> {
  const asked = who && {
    requester: { name: who.name, link: null, isPrivate: false },
    authors: { requester: who.id, quoted: [] },
  };
  const created = await subject.ask(JOBS, { body: { prompt: "Fix", ...asked } });
  const { id } = (await created.json()) as { id: string };
  const run = await subject.runner.runOf(id);
  run.input.report({ brief: "Fix it", usage: { ...used, costUsd } });
  run.end(resultNamed(id, how));
  await expect.poll(() => subject.store.turn({ jobId: id, number: 1 })?.state).toBe("ended");
  subject.clock.advance(MINUTE_MS);
}

const ANA = { id: "U0ANA", name: "Ana" };

it("sums up turns by project and by person, as a table, as CSV and as JSON", async () => {
  await using subject = await ServiceUnderTest.start();
  await ask(subject, ANA, "no-changes", 5);
  subject.clock.advance(31 * DAY_MS);
  await ask(subject, ANA, "pull-request", 0.25);
  await ask(subject, { ...ANA, name: "Ana Lopez" }, "failed", null);
  await ask(subject, { id: "U0BEN", name: '=cmd|"x", Ben' }, "no-changes", 0.5);
  await ask(subject, null, "no-changes", 0);

  expect(usage(subject, "person", "table").split("\n")).toEqual([
    expect.stringMatching(/^PERSON +TURNS +PULL REQUEST +BRANCH +ANSWERED +NO CHANGES +FAILED +STOPPED /),
    expect.stringMatching(/^Ana Lopez \(U0ANA\) +2 +1 +0 +0 +0 +1 +0 +0 +0 +0 +\$0\.25\+ +2,400 +68$/),
    expect.stringMatching(/^\(nobody, or unknown\) +1 +0 +0 +1 +0 +0 +0 +0 +0 +0 +\$0\.00 +1,200 +34$/),
    expect.stringMatching(/^=cmd\|"x", Ben \(U0BEN\) +1 .* \$0\.50 /),
    expect.stringMatching(/^all +4 +1 +0 +2 +0 +1 +0 +0 +0 +0 +\$0\.75\+ +4,800 +136$/),
    "+: the cost of some turns isn't known.",
    "",
  ]);
  expect(usage(subject, "person", "csv").split("\r\n")).toEqual([
    expect.stringMatching(/^person,name,turns,pullRequest,.*,mergedWithoutEdits,mergedUnknown,costUsd,/),
    "U0ANA,Ana Lopez,2,1,0,0,0,1,0,0,0,0,0,0.25,1,2400,68",
    ",,1,0,0,1,0,0,0,0,0,0,0,0,0,1200,34",
    `U0BEN,"'=cmd|""x"", Ben",1,0,0,1,0,0,0,0,0,0,0,0.5,0,1200,34`,
    "",
  ]);
  expect(rows(subject, "project")).toMatchObject([
    { id: "docs", name: null, turns: 4, outcomes: { pullRequest: 1, answered: 2, failed: 1 }, costUsd: 0.75 },
  ]);
  const before = { sinceMs: subject.clock.now() - 40 * DAY_MS };
  expect(usage(subject, "project", "csv", before)).toContain("\r\ndocs,5,");
  expect(usage(subject, "project", "table", { project: "api" })).toMatch(/^There were no turns since 20/);
  const unknown = { name: "usage", sinceMs: 0, by: "project", project: "x", format: "table" } as const;
  expect(subject.service.runCommand(unknown)).toMatchObject({ isRefused: true });
});

type Merge = "merge" | "squash" | "rebase";

it.each<[string, Merge, "none" | "made" | "unknown"]>([
  ["as it was pushed", "merge", "none"],
  ["as it was pushed", "squash", "none"],
  ["as it was pushed", "rebase", "none"],
  ["after the base was merged in", "merge", "none"],
  ["after a person's commit", "squash", "made"],
  ["after a person squashed it", "merge", "none"],
  ["after a person wrote it anew", "merge", "unknown"],
])("a pull request that is merged %s (%s) has edits: %s", async (how, method, edits) => {
  await using world = await openFollowingWorld();
  const { site, mine, at, service } = world;
  const { id, pull } = await world.job({ "docs/quickstart.md": "# Quickstart\n" });
  const branch = `docs-agent/${id}`;
  await world.pass(MINUTE_MS);
  if (how === "after the base was merged in") {
    await site.push("main", { "docs/other.md": "# Other\n" });
    await mine.pulls.updateBranch(pull);
    await world.pass(MINUTE_MS);
  }
  if (how === "after a person's commit")
    await site.push(branch, { "docs/quickstart.md": "# Start\n" }, branch);
  if (how.endsWith("squashed it") || how.endsWith("anew")) {
    const { data: commit } = await mine.git.getCommit({ ...at, commit_sha: await site.tip(branch) });
    const { data: base } = await mine.git.getRef({ ...at, ref: "heads/main" });
    const content = how.endsWith("anew") ? "# Begin\n" : "# Quickstart\n";
    const { data: tree } = await mine.git.createTree({
      ...at,
      base_tree: commit.tree.sha,
      tree: [{ path: "docs/quickstart.md", mode: "100644", type: "blob", content }],
    });
    const parents = [base.object.sha];
    const { data: made } = await mine.git.createCommit({ ...at, message: "All", tree: tree.sha, parents });
    await mine.git.updateRef({ ...at, ref: `heads/${branch}`, sha: made.sha, force: true });
  }
  await mine.pulls.merge({ ...pull, merge_method: method });
  await world.pass(5 * MINUTE_MS);
  expect(rows(service, "project")).toMatchObject([
    {
      merged: 1,
      mergedWithoutEdits: edits === "none" ? 1 : 0,
      mergedUnknown: edits === "unknown" ? 1 : 0,
    },
  ]);
});

it("asks a code host that is away again, and after a day it stays unknown", { tags: "all" }, async () => {
  let isAway = false;
  const hook = async (phase: string, what: string) =>
    isAway && phase === "before" && /\/pulls\/\d+\/commits/.test(what);
  await using world = await openFollowingWorld({ hook });
  const one = await world.job({ "docs/a.md": "# A\n" });
  const other = await world.job({ "docs/b.md": "# B\n" });
  await world.pass(MINUTE_MS);
  isAway = true;
  await world.mine.pulls.merge(one.pull);
  await world.pass(2 * HOUR_MS);
  expect(rows(world.service, "project")).toMatchObject([{ merged: 1, mergedUnknown: 1 }]);
  isAway = false;
  await world.pass(2 * HOUR_MS);
  expect(rows(world.service, "project")).toMatchObject([{ merged: 1, mergedWithoutEdits: 1 }]);
  isAway = true;
  await world.mine.pulls.merge(other.pull);
  await world.pass(49 * HOUR_MS);
  isAway = false;
  await world.pass(DAY_MS);
  expect(rows(world.service, "project")).toMatchObject([
    { merged: 2, mergedWithoutEdits: 1, mergedUnknown: 1 },
  ]);
  expect((await world.service.service.queue.counts()).dead).toBe(0);
});
