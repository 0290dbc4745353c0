import { expect, it } from "vitest";
import { jobDetails } from "../../../src/service/commands/show.ts";
import { type FollowingWorld, openFollowingWorld } from "../../support/following-world.ts";
import { atNight } from "../../support/nightly.ts";

const MINUTE = 60_000;

/** From now on, only this check has to pass before something is merged into main. */
async function requireCheck({ mine, at }: FollowingWorld, name: string): Promise<void> {
  await mine.repos.updateBranchProtection({
    ...at,
    branch: "main",
    required_status_checks: { strict: false, contexts: [name] },
    required_pull_request_reviews: null,
    enforce_admins: true,
    restrictions: null,
  });
}

it("tells a pull request from its opening to its merge, to clients of level 1", async () => {
  await using world = await openFollowingWorld();
  const { id, number, sha, pull, prLink } = await world.job();
  await world.pass(MINUTE);
  expect(await world.record(id)).toEqual({
    url: prLink,
    number,
    title: `Change of docs-agent/${id}`,
    state: "open",
    isDraft: false,
    review: "none",
    checks: { state: "passed", failed: [] },
    reviews: [],
    waitingFor: [],
    mergeable: true,
    blockedBy: null,
    headSha: sha,
    isVisible: true,
    openedAt: "2026-01-05T09:00:00Z",
    baseRef: "main",
    roundsLeft: 3,
  });
  const plain = await (await world.service.ask(`/v2/agent/docs/job/${id}`)).json();
  expect(plain).not.toHaveProperty("pullRequest");

  await world.mine.pulls.requestReviewers({ ...pull, reviewers: ["mira", "otto"] });
  await world.hers.pulls.createReview({ ...pull, event: "REQUEST_CHANGES", body: "Say it shorter." });
  await world.pass(MINUTE);
  expect(await world.record(id)).toMatchObject({
    review: "changes-requested",
    waitingFor: ["otto"],
    reviews: [{ author: "mira", words: "Say it shorter.", state: "changes-requested", headSha: sha }],
  });
  await world.hers.pulls.createReview({ ...pull, event: "APPROVE" });
  await world.hers.pulls.createReview({ ...pull, event: "COMMENT", body: "Thanks!" });
  await world.pass(MINUTE);
  expect(await world.record(id)).toMatchObject({ review: "approved" });
  await world.mine.pulls.merge(pull);
  await world.pass(MINUTE);
  expect(await world.record(id)).toMatchObject({ state: "merged", waitingFor: [], mergeable: null });

  world.host.resetCalls();
  await world.pass(60 * MINUTE);
  expect(world.host.calls).toMatchObject({ paid: 0, notModified: 0, graphql: 0 });
});

it.each([true, false])("reads the same by GraphQL and without it (%s)", async (hasGraphql) => {
  await using world = await openFollowingWorld();
  world.host.rules.hasGraphql = hasGraphql;
  const { id, sha, pull } = await world.job();
  const check = (name: string, result: "pending" | "failed") =>
    world.host.setCheck(world.at.owner, world.at.repo, { sha, name, result });
  await check("links", "pending");
  await world.hers.pulls.createReview({ ...pull, event: "APPROVE" });
  await world.pass(MINUTE);
  expect(await world.record(id)).toMatchObject({
    review: "approved",
    checks: { state: "pending", failed: [] },
    mergeable: true,
    blockedBy: null,
  });
  // Checks don't move the time of the last change.
  await check("links", "failed");
  await world.mine.repos.createCommitStatus({ ...world.at, sha, state: "error", context: "build" });
  await world.pass(2 * MINUTE);
  expect(await world.record(id)).toMatchObject({ checks: { state: "failed", failed: ["build", "links"] } });

  await world.site.push("main", { "docs/quickstart.md": "# Another\n" });
  await world.mine.issues.createComment({ ...world.at, issue_number: pull.pull_number, body: "Hm" });
  await world.pass(2 * MINUTE);
  expect(await world.record(id)).toMatchObject({ mergeable: false, blockedBy: "conflicts" });
  const { graphql } = world.host.calls;
  expect(graphql > 0).toBe(hasGraphql);
});

it.each([true, false])(
  "tells of conflicts within 15 minutes after the base branch moved, and that they are gone (%s)",
  async (hasGraphql) => {
    await using world = await openFollowingWorld();
    world.host.rules.hasGraphql = hasGraphql;
    const { id } = await world.job();
    const other = await world.job({ "docs/faq.md": "# FAQ\n" });
    // By then, a pull request that stays as it is would be looked at hours later.
    await world.pass(24 * 60 * MINUTE);
    expect(await world.record(id)).toMatchObject({ mergeable: true, blockedBy: null });
    await world.site.push("main", { "docs/quickstart.md": "# Another\n" });
    await world.pass(15 * MINUTE);
    expect(await world.record(id)).toMatchObject({
      mergeable: false,
      blockedBy: "conflicts",
      baseRef: "main",
    });
    expect(await world.record(other.id)).toMatchObject({ mergeable: true, blockedBy: null });
    await world.site.push("main", { "docs/quickstart.md": "# Quickstart\n" });
    await world.pass(15 * MINUTE);
    expect(await world.record(id)).toMatchObject({ blockedBy: null });
  },
);

it.each([true, false])(
  "tells what reviews say about lines, and why checks failed (GraphQL: %s)",
  async (hasGraphql) => {
    await using world = await openFollowingWorld();
    world.host.rules.hasGraphql = hasGraphql;
    const { id, sha, pull } = await world.job();
    const path = "docs/quickstart.md";
    const comments = Array.from({ length: 6 }, (_, at) => ({ path, line: 1, body: `Shorter ${at}\u202e` }));
    await world.hers.pulls.createReview({ ...pull, event: "REQUEST_CHANGES", body: "See below.", comments });
    const { owner, repo } = world.at;
    const summary = "\n3 links are broken\n\nall in one page";
    await world.host.setCheck(owner, repo, { sha, name: "links", result: "failed", summary });
    const annotations = [{ path, startLine: 7, message: "No such\nheading" }];
    await world.host.setCheck(owner, repo, { sha, name: "anchors", result: "failed", annotations });
    const status = { state: "error", context: "build", description: "Out of memory" } as const;
    await world.mine.repos.createCommitStatus({
      ...world.at,
      sha,
      ...status,
      target_url: "https://ci.example/1",
    });
    await world.pass(MINUTE);
    const first = await world.record(id);
    expect(first?.reviews).toMatchObject([{ author: "mira", words: "See below." }]);
    expect(first?.reviews[0]?.comments).toEqual(
      [0, 1, 2, 3, 4].map((at) => ({ path, line: 1, words: `Shorter ${at}` })),
    );
    const reasons = new Map(first?.checks.reasons?.map((reason) => [reason.name, reason]));
    // Its title is its summary.
    expect(reasons.get("links")?.words).toBe("3 links are broken\nall in one page");
    expect(reasons.get("anchors")?.words).toContain(`${path}:7: No such heading`);
    expect(reasons.get("build")).toEqual({
      name: "build",
      words: "Out of memory",
      url: "https://ci.example/1",
    });
    expect(reasons.get("links")?.url).toMatch(/^http:.*\/runs\/\d+$/);

    // It is read once for each change.
    const { requests } = world.host.traffic;
    const before = requests.length;
    await world.pass(5 * MINUTE);
    expect(requests.slice(before).filter((request) => /comments|annotations/.test(request))).toEqual([]);
    expect(await world.record(id)).toEqual(first);
  },
);

it.each([true, false])("reads more checks than fit on a page (GraphQL: %s)", async (hasGraphql) => {
  await using world = await openFollowingWorld();
  world.host.rules.hasGraphql = hasGraphql;
  const { id, sha } = await world.job();
  const { owner, repo } = world.at;
  const check = (name: string, result: "passed" | "failed") =>
    world.host.setCheck(owner, repo, { sha, name, result, summary: `${name} ${result}` });
  await check("first", "failed");
  for (let at = 0; at < 110; at += 1) await check(`passing ${at}`, "passed");
  await check("last", "failed");
  await world.pass(MINUTE);
  const { checks } = (await world.record(id)) ?? {};
  expect(checks).toMatchObject({ state: "failed", failed: ["first", "last"] });
  expect(checks?.reasons?.map(({ words }) => words).toSorted()).toEqual(["first failed", "last failed"]);
});

it.each([true, false])("takes reviews of people who may not write for comments (%s)", async (hasGraphql) => {
  await using world = await openFollowingWorld();
  world.host.rules.hasGraphql = hasGraphql;
  world.host.rules.roles.set("mira", "read");
  const { id, pull } = await world.job();
  await world.hers.pulls.createReview({ ...pull, event: "REQUEST_CHANGES", body: "Name my shop." });
  await world.pass(MINUTE);
  expect(await world.record(id)).toMatchObject({
    review: "none",
    reviews: [{ author: "mira", words: "Name my shop.", state: "commented" }],
  });
  await world.hers.pulls.createReview({ ...pull, event: "APPROVE" });
  await world.pass(MINUTE);
  expect(await world.record(id)).toMatchObject({ review: "none", reviews: [{ state: "commented" }] });
  // They may from now on. Without GraphQL, that is asked once an hour.
  world.host.rules.roles.set("mira", "write");
  await world.hers.pulls.createReview({ ...pull, event: "APPROVE" });
  await world.pass(hasGraphql ? MINUTE : 7 * 60 * MINUTE);
  expect(await world.record(id)).toMatchObject({ review: "approved" });
});

it("counts all reviews where a host without GraphQL doesn't say who may write", async () => {
  await using world = await openFollowingWorld();
  world.host.rules.hasGraphql = false;
  world.host.traffic.fault = (request) =>
    request.includes("/permission") ? { kind: "http", status: 403 } : undefined;
  const { id, pull } = await world.job();
  await world.hers.pulls.createReview({ ...pull, event: "REQUEST_CHANGES", body: "Shorter." });
  await world.pass(MINUTE);
  expect(await world.record(id)).toMatchObject({ review: "changes-requested" });
});

it("doesn't count what failed before the change, and only what is required where the host says so", async () => {
  await using world = await openFollowingWorld();
  const { owner, repo } = world.at;
  const base = await world.site.tip("main");
  await world.host.setCheck(owner, repo, { sha: base, name: "old links", result: "failed" });
  const { id, sha } = await world.job();
  await world.host.setCheck(owner, repo, { sha, name: "old links", result: "failed" });
  await world.pass(MINUTE);
  expect(await world.record(id)).toMatchObject({ checks: { state: "passed", failed: [] } });
  await world.host.setCheck(owner, repo, { sha, name: "build", result: "failed" });
  await world.pass(5 * MINUTE);
  expect(await world.record(id)).toMatchObject({ checks: { state: "failed", failed: ["build"] } });
  await requireCheck(world, "lint");
  await world.host.setCheck(owner, repo, { sha, name: "lint", result: "passed" });
  await world.pass(10 * MINUTE);
  expect(await world.record(id)).toMatchObject({ checks: { state: "passed", failed: [] } });
});

it.each([true, false])(
  "says that checks are unknown to a token that can't read them (%s)",
  async (hasGraphql) => {
    await using world = await openFollowingWorld({ tokenKind: "fine-grained" });
    world.host.rules.hasGraphql = hasGraphql;
    const { id, sha } = await world.job();
    await world.host.setCheck(world.at.owner, world.at.repo, { sha, name: "links", result: "failed" });
    await world.pass(MINUTE);
    expect(await world.record(id)).toMatchObject({ state: "open", checks: { state: "unknown", failed: [] } });
    expect(world.service.logger.lines.filter(({ level }) => level === "warn")).toEqual([]);
  },
);

it(
  "sees that a closed one is opened again, for two weeks",
  { tags: "nightly", timeout: 60_000 },
  async () => {
    await using world = await openFollowingWorld();
    const { id, pull } = await world.job();
    await world.mine.pulls.update({ ...pull, state: "closed" });
    await world.pass(MINUTE);
    expect(await world.record(id)).toMatchObject({ state: "closed" });
    await world.pass(5 * 60 * MINUTE);
    await world.mine.pulls.update({ ...pull, state: "open" });
    await world.pass(MINUTE);
    expect(await world.record(id)).toMatchObject({ state: "open" });
    await world.mine.pulls.update({ ...pull, state: "closed" });
    await world.pass(10 * MINUTE);
    await world.service.stop();
    world.service.clock.advance(15 * 24 * 60 * MINUTE);
    await world.service.start();
    await world.pass(MINUTE);
    world.host.resetCalls();
    await world.pass(60 * MINUTE);
    expect(world.host.calls).toMatchObject({ paid: 0, notModified: 0, graphql: 0 });
  },
);

it("says that it can't be seen anymore after ten minutes, and that it can be seen again", async () => {
  await using world = await openFollowingWorld();
  const { id } = await world.job();
  await world.pass(MINUTE);
  world.host.rules.hiddenRepositories.add("tidepool/docs");
  await world.pass(9 * MINUTE);
  expect(await world.record(id)).toMatchObject({ state: "open", isVisible: true });
  await world.pass(16 * MINUTE);
  expect(await world.record(id)).toMatchObject({ state: "open", isVisible: false });
  world.host.rules.hiddenRepositories.clear();
  await world.pass(61 * MINUTE);
  expect(await world.record(id)).toMatchObject({ state: "open", isVisible: true });
  const said = world.service.logger.lines
    .filter(({ level }) => level === "warn")
    .map(({ message }) => message);
  expect(said).toEqual([
    "pull requests can't be followed now; trying again",
    "a pull request can't be seen anymore",
  ]);
});

it(
  "waits as long as the host asks for, and goes on where an answer isn't what the API promises",
  { tags: "all" },
  async () => {
    await using world = await openFollowingWorld();
    const { traffic } = world.host;
    const { id, pull } = await world.job();
    await world.pass(MINUTE);
    traffic.fault = () => ({ kind: "http", status: 429, headers: { "retry-after": "1800" } });
    await world.pass(MINUTE);
    const before = traffic.requests.length;
    await world.pass(28 * MINUTE);
    expect(traffic.requests.length).toBe(before);
    const odd = [
      '{"data": null, "errors": [{"message": "Something went wrong"}]}',
      '{"data": {"repository": {"p1": {"number": "one"}}}}',
      "[]",
      '{"a":',
      "<html>",
    ];
    traffic.fault = () => ({
      kind: "http",
      status: 200,
      body: odd[traffic.requests.length % odd.length] ?? "",
    });
    await world.pass(60 * MINUTE);
    expect(traffic.requests.length - before).toBeLessThan(100);
    expect(await world.record(id)).toMatchObject({ state: "open", isVisible: true });
    traffic.fault = undefined;
    await world.mine.pulls.merge(pull);
    world.host.resetCalls();
    await world.pass(20 * MINUTE);
    expect(await world.record(id)).toMatchObject({ state: "merged" });
    // It isn't taken for a host without GraphQL.
    expect(world.host.calls.graphql).toBeGreaterThan(0);
  },
);

it(
  "goes on at once in a new process, when the clock was three hours ahead in the last one",
  { tags: "all" },
  async () => {
    await using world = await openFollowingWorld();
    const { id, pull, sha } = await world.job();
    await world.pass(MINUTE);
    const { clock } = world.service;
    // A running program goes by its own time, so only the next one sees that.
    await world.service.stop();
    clock.setTo(clock.now() - 180 * MINUTE);
    await world.service.start();
    await world.host.setCheck(world.at.owner, world.at.repo, { sha, name: "build", result: "failed" });
    await world.pass(3 * MINUTE);
    expect(await world.record(id)).toMatchObject({ checks: { state: "failed" } });
    await world.mine.pulls.merge(pull);
    // The host's clock went back here, too, so its list shows nothing new for a while.
    await world.pass(15 * MINUTE);
    expect(await world.record(id)).toMatchObject({ state: "merged" });
  },
);

it("goes on once the App's key can be read again, however long it couldn't", { tags: "all" }, async () => {
  const app = { id: 12, keyFile: "/nowhere/app.pem", installationId: 77 };
  await using world = await openFollowingWorld({ app });
  await world.job();
  await world.pass(5 * 60 * MINUTE);
  expect(await world.service.service.queue.counts()).toMatchObject({ dead: 0 });
  const warnings = world.service.logger.lines.filter(({ level }) => level === "warn");
  expect(warnings).toMatchObject([{ message: "pull requests can't be followed now; trying again" }]);
});

it("follows what an earlier version left, and what another process followed", async () => {
  await using world = await openFollowingWorld();
  const { id, pull } = await world.job();
  await world.pass(MINUTE);
  await world.service.stop();
  await world.mine.pulls.merge(pull);
  await world.service.start();
  await world.pass(MINUTE);
  expect(await world.record(id)).toMatchObject({ state: "merged" });
  const job = world.service.store.job(id);
  expect(job && jobDetails(job, [], [])).toContain("stands        merged; review none; checks passed\n");
});

it("follows with a token that may not read teams", async () => {
  await using world = await openFollowingWorld();
  world.host.rules.readsTeams = false;
  const { id, pull } = await world.job();
  await world.mine.pulls.requestReviewers({ ...pull, reviewers: ["otto"], team_reviewers: ["writers"] });
  await world.pass(MINUTE);
  expect(await world.record(id)).toMatchObject({ state: "open", waitingFor: ["otto"] });
  expect(world.service.logger.lines.filter(({ level }) => level === "warn")).toEqual([]);
  // Not at the price of REST, which doesn't tell what is required.
  expect(world.host.calls.graphql).toBeGreaterThan(0);
});

it.each(atNight([true, false], [true]))(
  "isn't held up by one that the host fails at (%s)",
  async (hasGraphql) => {
    await using world = await openFollowingWorld();
    world.host.rules.hasGraphql = hasGraphql;
    const poison = await world.job();
    const other = await world.job({ "docs/other.md": "# Other\n" });
    await world.pass(MINUTE);
    const asksForPoison = new RegExp(`pulls/${poison.number}\\b|p${poison.number}: pullRequest`);
    world.host.traffic.fault = (request, body) =>
      asksForPoison.test(request + body) ? { kind: "http", status: 502 } : undefined;
    await world.hers.pulls.createReview({ ...other.pull, event: "APPROVE" });
    await world.host.setCheck(world.at.owner, world.at.repo, {
      sha: poison.sha,
      name: "links",
      result: "failed",
    });
    await world.pass(10 * MINUTE);
    expect(await world.record(other.id)).toMatchObject({ review: "approved" });
    expect(await world.record(poison.id)).toMatchObject({ state: "open", isVisible: true });
    world.host.traffic.fault = undefined;
    await world.pass(6 * MINUTE);
    expect(await world.record(poison.id)).toMatchObject({ checks: { state: "failed" } });
  },
);

const REFUSED_PARTS: [status: number, path: string][] = [
  [404, "/reviews"],
  [422, "/check-runs"],
  [403, "/reviews"],
  [410, "/check-runs"],
  [401, "/check-runs"],
];

it.each(atNight(REFUSED_PARTS, REFUSED_PARTS.slice(0, 1)))(
  "without GraphQL, isn't held up by one of which the host refuses to tell a part (%i at %s)",
  async (status, path) => {
    await using world = await openFollowingWorld();
    world.host.rules.hasGraphql = false;
    const poison = await world.job();
    const other = await world.job({ "docs/other.md": "# Other\n" });
    await world.pass(MINUTE);
    const of = path === "/reviews" ? `/pulls/${poison.number}/reviews` : `/commits/${poison.sha}/check-runs`;
    for (const { pull } of [poison, other])
      await world.hers.pulls.createReview({ ...pull, event: "APPROVE" });
    world.host.traffic.fault = (request) => (request.includes(of) ? { kind: "http", status } : undefined);
    await world.pass(12 * MINUTE);
    expect(await world.record(other.id)).toMatchObject({ review: "approved", isVisible: true });
    expect(await world.record(poison.id)).toMatchObject({ state: "open", isVisible: true });
  },
);

it("tells a follow-up's turn when it saw that the pull request was closed, until it is reopened", async () => {
  await using world = await openFollowingWorld();
  const { id, pull } = await world.job();
  let turns = 1;
  const seenByNext = async () => {
    await world.service.ask(`/v2/agent/docs/job/${id}/message`, { body: { prompt: "More" } });
    const run = await world.service.runner.runOf(id, (turns += 1));
    run.end({ kind: "no-changes", summary: "No", reason: null, leftOut: [] });
    await world.pass(0);
    return run.input.closedSeenAt;
  };
  await world.pass(MINUTE);
  await world.mine.pulls.update({ ...pull, state: "closed" });
  expect(await seenByNext()).toBeNull();
  const closedAt = world.service.clock.now();
  await world.pass(MINUTE);
  const seenAt = (await seenByNext()) ?? 0;
  expect(seenAt).toBeGreaterThanOrEqual(closedAt);
  expect(seenAt).toBeLessThanOrEqual(world.service.clock.now());
  await world.mine.pulls.update({ ...pull, state: "open" });
  await world.pass(5 * MINUTE);
  expect(await seenByNext()).toBeNull();
});

it("looks at what is due while the list can't be read", { tags: "all" }, async () => {
  await using world = await openFollowingWorld();
  const { id, pull } = await world.job();
  await world.pass(20 * MINUTE);
  world.host.traffic.fault = (request) =>
    /\/pulls\?/.test(request) ? { kind: "http", status: 502 } : undefined;
  await world.mine.pulls.merge(pull);
  await world.pass(30 * MINUTE);
  expect(await world.record(id)).toMatchObject({ state: "merged" });
  expect(world.service.logger.lines.filter(({ level }) => level === "warn")).toHaveLength(1);
});

it.each([
  ["refused", { status: 502 }],
  // It would take this thread a while to parse them.
  ["millions of values", { status: 200, body: `[${"{},".repeat(2e6)}{}]` }],
])(
  "asks for less at once where the list is too large to be read: %s",
  { tags: "all" },
  async (_what, answer) => {
    await using world = await openFollowingWorld();
    const { id, pull } = await world.job();
    await world.pass(20 * MINUTE);
    const headers = { "content-type": "application/json" };
    world.host.traffic.fault = (request) => {
      const [, size] = /\/pulls\?.*per_page=(\d+)/.exec(request) ?? [];
      return Number(size ?? 0) > 50 ? { kind: "http", headers, ...answer } : undefined;
    };
    await world.mine.pulls.update({ ...pull, state: "closed" });
    await world.pass(5 * MINUTE);
    expect(await world.record(id)).toMatchObject({ state: "closed" });
    expect(world.host.traffic.requests.join()).toContain("per_page=50");
  },
);

it.each([
  ["reviews without GraphQL", false, `[${"{},".repeat(2e6)}{}]`],
  ["a look by GraphQL", true, `{"data": {"repository": {}}, "errors": [${"{},".repeat(2e6)}{}]}`],
])(
  "isn't held up by one pull request with too large an answer: %s",
  { tags: "all" },
  async (_what, hasGraphql, body) => {
    await using world = await openFollowingWorld();
    world.host.rules.hasGraphql = hasGraphql;
    const poison = await world.job();
    const other = await world.job({ "docs/other.md": "# Other\n" });
    await world.pass(MINUTE);
    for (const { pull } of [poison, other])
      await world.hers.pulls.createReview({ ...pull, event: "APPROVE" });
    const headers = { "content-type": "application/json" };
    const [path, field] = [`/pulls/${poison.number}/reviews`, `p${poison.number}:`];
    world.host.traffic.fault = (request, query) =>
      request.includes(path) || query.includes(field)
        ? { kind: "http", status: 200, headers, body }
        : undefined;
    await world.pass(12 * MINUTE);
    expect(await world.record(other.id)).toMatchObject({ review: "approved", isVisible: true });
    expect(await world.record(poison.id)).toMatchObject({ state: "open", isVisible: true });
    expect(world.service.logger.text("warn")).toContain("The code host's answer is too large.");
  },
);

it(
  "goes on with what only GraphQL tells after GraphQL wasn't there for a moment",
  { tags: "all" },
  async () => {
    await using world = await openFollowingWorld();
    const { id, sha, pull } = await world.job();
    await requireCheck(world, "build");
    const { owner, repo } = world.at;
    await world.host.setCheck(owner, repo, { sha, name: "build", result: "passed" });
    await world.host.setCheck(owner, repo, { sha, name: "lint", result: "failed" });
    await world.pass(MINUTE);
    expect(await world.record(id)).toMatchObject({ checks: { state: "passed" } });
    let isOnce = true;
    world.host.traffic.fault = (request) => {
      if (!isOnce || !request.includes("graphql")) return undefined;
      isOnce = false;
      return { kind: "http", status: 404, body: "<html>not found</html>" };
    };
    await world.hers.pulls.createReview({ ...pull, event: "APPROVE" });
    await world.pass(5 * MINUTE);
    expect(isOnce).toBe(false);
    expect(await world.record(id)).toMatchObject({ review: "approved", checks: { state: "passed" } });
  },
);

it("keeps the address that people know when the repository has another name", async () => {
  await using world = await openFollowingWorld();
  const { id, prLink, pull } = await world.job();
  await world.pass(MINUTE);
  world.host.rules.renamed.set("tidepool/docs", "tidepool/handbook");
  await world.mine.pulls.merge(pull);
  await world.pass(2 * MINUTE);
  expect(await world.record(id)).toMatchObject({ state: "merged", url: prLink });
});

it(
  "tells the rest of a pull request, and of others, while its base can't be read",
  { tags: "all" },
  async () => {
    await using world = await openFollowingWorld();
    const { id, sha, pull } = await world.job();
    await world.host.setCheck(world.at.owner, world.at.repo, { sha, name: "links", result: "failed" });
    world.host.traffic.fault = (request) =>
      request.includes("/compare/") ? { kind: "http", status: 500 } : undefined;
    await world.hers.pulls.createReview({ ...pull, event: "APPROVE" });
    await world.pass(MINUTE);
    expect(await world.record(id)).toMatchObject({ review: "approved", checks: { state: "unknown" } });
    world.host.traffic.fault = undefined;
    await world.pass(2 * MINUTE);
    expect(await world.record(id)).toMatchObject({ checks: { state: "failed", failed: ["links"] } });
  },
);

it("looks at the base again if nothing was checked there yet", async () => {
  await using world = await openFollowingWorld();
  const { owner, repo } = world.at;
  const base = await world.site.tip("main");
  const { id, sha } = await world.job();
  await world.host.setCheck(owner, repo, { sha, name: "old links", result: "failed" });
  await world.pass(MINUTE);
  expect(await world.record(id)).toMatchObject({ checks: { state: "failed" } });
  await world.host.setCheck(owner, repo, { sha: base, name: "old links", result: "failed" });
  await world.pass(5 * MINUTE);
  expect(await world.record(id)).toMatchObject({ checks: { state: "passed", failed: [] } });
});

it(
  "doesn't take a trouble of the host's for a repository that may not be seen",
  { tags: "all" },
  async () => {
    await using world = await openFollowingWorld();
    const { id } = await world.job();
    await world.pass(MINUTE);
    const body = '{"data": {"repository": null}, "errors": [{"message": "Something went wrong"}]}';
    const headers = { "content-type": "application/json" };
    world.host.traffic.fault = (request) =>
      request.includes("graphql") ? { kind: "http", status: 200, headers, body } : undefined;
    await world.pass(60 * MINUTE);
    expect(await world.record(id)).toMatchObject({ isVisible: true });
  },
);

it("answers a pass of reviews once, a minute later, unasked", async () => {
  const project = { addressReviews: "always" as const };
  await using world = await openFollowingWorld({ project });
  const { id, prLink, pull } = await world.job();
  await world.pass(MINUTE);
  const kinds = () => world.service.store.turns(id).map(({ kind, state }) => `${kind} ${state}`);
  const review = (body: string) => world.hers.pulls.createReview({ ...pull, event: "REQUEST_CHANGES", body });
  await review("Shorter.");
  await world.pass(MINUTE);
  await review("And simpler.");
  await world.pass(MINUTE);
  expect(kinds()).toEqual(["message ended"]);
  const passing = world.pass(2 * MINUTE);
  const run = await world.service.runner.runOf(id, 2);
  expect(run.input).toMatchObject({ kind: "address", requester: null });
  run.input.report({ isRound: true });
  run.end({ kind: "pull-request", prLink, summary: "Shorter", leftOut: [] });
  await passing;
  await world.pass(10 * MINUTE);
  expect(kinds()).toEqual(["message ended", "address ended"]);
  const shown = world.service.ask(`/v2/agent/docs/job/${id}`, {
    headers: { "Docs-Agent-Capabilities": "docs-agent/2" },
  });
  const { turns } = (await (await shown).json()) as { turns: object[] };
  expect(turns).toMatchObject([{ number: 1 }, { kind: "address", isUnasked: true }]);
  expect(turns[0]).not.toHaveProperty("isUnasked");

  await review("Once more.");
  const more = world.pass(3 * MINUTE);
  (await world.service.runner.runOf(id, 3)).end({ kind: "no-changes", summary: null });
  await more;
  await world.pass(MINUTE);
  expect(kinds()).toEqual(["message ended", "address ended", "address ended"]);
});

it("answers no review unasked unless the settings say so", async () => {
  await using world = await openFollowingWorld();
  const { id, pull } = await world.job();
  await world.hers.pulls.createReview({ ...pull, event: "REQUEST_CHANGES", body: "Shorter." });
  await world.pass(10 * MINUTE);
  expect(world.service.store.turns(id)).toHaveLength(1);
});
