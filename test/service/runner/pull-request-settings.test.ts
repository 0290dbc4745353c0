// @module-tag all

import { describe, expect, it } from "vitest";
import { above, FIX, said, SETTINGS } from "../../support/pull-request-texts.ts";
import { inlineAgent, LOGIC_ONLY, openRunnerWorld } from "../../support/runner-world.ts";
import { shellCheck } from "../../support/shell-check.ts";

describe("the settings", () => {
  const decorated = { ...SETTINGS, draft: true, labels: ["docs"], assignees: ["ana"] };

  it("make it a draft with labels, assignees and reviewers, and give the title its form", async () => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    const pullRequests = {
      ...decorated,
      reviewers: ["ben", "acme/docs-team"],
      titleTemplate: "docs: {title}",
    };
    const result = await world.run(world.project(inlineAgent(FIX + said("Fixed it.")), { pullRequests }));
    expect(result).toMatchObject({ notes: [], pullRequest: { isDraft: true } });
    expect(world.pulls()[0]).toMatchObject({
      title: "docs: fix it",
      isDraft: true,
      labels: ["docs"],
      assignees: ["ana"],
      reviewers: ["ben", "acme/docs-team"],
    });
  });

  it("don't stop the pull request where the code host refuses them, and the turn says so", async () => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    world.codeHost.rules.hasDrafts = false;
    world.codeHost.rules.collaborators = new Set(["ben"]);
    world.api.fault = (request) => (request.includes("/labels") ? { kind: "http", status: 403 } : undefined);
    const project = world.project(inlineAgent(FIX), {
      pullRequests: { ...decorated, reviewers: ["ben", "gone"] },
    });
    expect(await world.run(project)).toMatchObject({
      kind: "pull-request",
      notes: [
        "The pull request isn't a draft, because this repository doesn't have drafts.",
        "The code host refused the labels: docs.",
        "The code host refused the assignees: ana.",
        "The code host refused the reviewers: gone.",
      ],
    });
    expect(world.pulls()[0]).toMatchObject({ isDraft: false, reviewers: ["ben"] });
    expect(world.pulls()[0]?.body).toContain("Drafts aren't available in this repository");
  });

  it("are done once: a later turn asks nobody for a review again", async () => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    const pullRequests = { ...SETTINGS, reviewers: ["ben"] };
    await world.run(world.project(inlineAgent(FIX), { pullRequests }));
    const asked: string[] = [];
    world.api.before = async (request) => void asked.push(request);
    await world.run(world.project(inlineAgent(`fs.writeFileSync("docs/b.md", "x");`), { pullRequests }), {
      prompt: "More",
      earlierTurns: [{ prompt: "Fix the typo", summary: null }],
    });
    expect(asked.filter((request) => request.includes("requested_reviewers"))).toEqual([]);
  });
});

describe("what a check found", () => {
  const NO_TODO = shellCheck("! grep -rn TODO docs", { name: "todo", timeoutSeconds: 60 });
  const write = (text: string) => inlineAgent(`fs.writeFileSync("docs/a.md", ${JSON.stringify(text)});`);
  const earlierTurns = [{ prompt: "Fix the typo", summary: null }];

  it("makes it a draft, which a later turn without findings makes ready", async () => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    const verify = [NO_TODO];
    const first = await world.run(world.project(write("TODO\n"), { verify }));
    expect(first).toMatchObject({
      pullRequest: { isDraft: true },
      checks: [{ name: "todo", result: "failed", findings: [expect.stringContaining("TODO")] }],
    });
    const [pull] = world.pulls();
    expect(pull?.isDraft).toBe(true);
    expect(above(pull?.body)).toMatch(
      /This is a draft because a check found something new\.\n\n- todo: 1 new finding/,
    );
    const second = await world.run(world.project(write("Done\n"), { verify }), {
      prompt: "More",
      earlierTurns,
    });
    expect(second).toMatchObject({ pullRequest: { isDraft: false }, checks: [{ result: "passed" }] });
    expect(world.pulls()[0]).toMatchObject({ isDraft: false, body: expect.not.stringContaining("draft") });
  });

  it.each([
    ["no answer to its text", { path: "PATCH", fault: { kind: "drop-before" } as const, rejects: true }],
    [
      "no right to make it ready",
      { path: "/graphql", fault: { kind: "http", status: 403 } as const, rejects: false },
    ],
  ])("is told truly where the code host has %s", async (_what, { path, fault, rejects }) => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    const verify = [NO_TODO];
    await world.run(world.project(write("TODO\n"), { verify }));
    const again = () =>
      world.run(world.project(write("Done\n"), { verify }), { prompt: "More", earlierTurns });
    world.api.fault = (request) => (request.includes(path) ? fault : undefined);
    if (rejects) await expect(again()).rejects.toThrow("code host");
    else expect(await again()).toMatchObject({ notes: [expect.stringContaining("still a draft")] });
    world.api.fault = undefined;
    if (rejects) expect(await again()).toMatchObject({ pullRequest: { isDraft: false }, notes: [] });
    expect(world.pulls()[0]?.isDraft).toBe(!rejects);
  });

  it("stays one where the code host has no name by which to make it ready", async () => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    const verify = [NO_TODO];
    await world.run(world.project(write("TODO\n"), { verify }));
    const headers = { authorization: `Bearer ${world.token}` };
    const listed = await fetch(`${world.codeHost.apiUrl}/repos/acme/docs/pulls?state=all`, { headers });
    const pulls = (await listed.json()) as Record<string, unknown>[];
    const body = JSON.stringify(pulls.map((pull) => ({ ...pull, node_id: undefined })));
    world.api.fault = (request) =>
      request.startsWith("GET") && request.includes("/pulls")
        ? { kind: "http", status: 200, headers: { "content-type": "application/json" }, body }
        : undefined;
    const again = await world.run(world.project(write("Done\n"), { verify }), {
      prompt: "More",
      earlierTurns,
    });
    expect(again).toMatchObject({ notes: [expect.stringContaining("still a draft")] });
  });

  it("leaves a draft alone that a person made", async () => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    const pullRequests = { ...SETTINGS, draft: true };
    await world.run(world.project(write("One\n"), { pullRequests }));
    await world.run(world.project(write("Two\n"), { verify: [NO_TODO] }), { prompt: "More", earlierTurns });
    expect(world.pulls()[0]?.isDraft).toBe(true);
  });

  it("is said of a pull request that people may be reading already", async () => {
    await using world = await openRunnerWorld(LOGIC_ONLY);
    await world.run(world.project(write("One\n"), { verify: [NO_TODO] }));
    await world.run(world.project(write("TODO\n"), { verify: [NO_TODO] }), { prompt: "More", earlierTurns });
    expect(world.pulls()[0]?.isDraft).toBe(false);
    expect(world.pulls()[0]?.body).toContain("A check found something new. Look at it before you merge.");
  });
});
