import { expect, it } from "vitest";
import { openFollowingWorld, SECRET } from "../../support/following-world.ts";
import type { ProxyHook } from "../../../world/faults/hooked-proxy.ts";
import { sign } from "@octokit/webhooks-methods";

const SECOND = 1000;

async function send(
  world: Awaited<ReturnType<typeof openFollowingWorld>>,
  body: unknown,
  signature?: string,
) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const headers = { "x-hub-signature-256": signature ?? (await sign(SECRET, text)) };
  const answer = await world.service.ask("/webhooks/docs", { key: null, body: text, headers });
  return { status: answer.status, body: await answer.json() };
}

it("sees at once what a webhook tells, however seldom it polls", async () => {
  await using world = await openFollowingWorld({ pollSeconds: 3600, hasWebhook: true });
  const { id, sha, pull } = await world.job();
  await world.pass(60 * SECOND);
  await world.hers.pulls.createReview({ ...pull, event: "APPROVE" });
  await told(world, 2);
  expect(await world.record(id)).toMatchObject({ review: "approved" });
  await world.host.setCheck(world.at.owner, world.at.repo, { sha, name: "links", result: "failed" });
  await told(world, 3);
  expect(await world.record(id)).toMatchObject({ checks: { state: "failed", failed: ["links"] } });
  await world.mine.pulls.merge(pull);
  await told(world, 4);
  expect(await world.record(id)).toMatchObject({ state: "merged" });
});

it("sees conflicts at once when a webhook tells that the base branch moved", async () => {
  await using world = await openFollowingWorld({ pollSeconds: 3600, hasWebhook: true });
  const { id } = await world.job();
  await world.pass(60 * SECOND);
  const repository = { full_name: `${world.at.owner}/${world.at.repo}` };
  const push = (branch: string) => send(world, { repository, ref: `refs/heads/${branch}` });
  expect(await push("elsewhere")).toMatchObject({ body: { result: "ignored" } });
  await world.site.push("main", { "docs/quickstart.md": "# Another\n" });
  expect(await push("main")).toEqual({ status: 200, body: { result: "taken" } });
  await world.pass(60 * SECOND);
  expect(await world.record(id)).toMatchObject({ blockedBy: "conflicts" });
});

it("takes no webhook that isn't signed, and ignores what isn't about a pull request of ours", async () => {
  await using world = await openFollowingWorld({ hasWebhook: true });
  const { pull } = await world.job();
  await world.pass(60 * SECOND);
  const about = (full_name: string, number: number) => ({
    repository: { full_name },
    pull_request: { number },
  });
  const ours = about("Tidepool/docs", pull.pull_number);
  const wrong = await sign("another secret", JSON.stringify(ours));
  expect((await send(world, ours, wrong)).status).toBe(401);
  for (const forged of [
    "",
    "sha256=",
    "sha1=aa",
    "sha256=ü",
    `${await sign(SECRET, JSON.stringify(ours))}0`,
  ]) {
    expect((await send(world, ours, encodeURI(forged))).status).toBe(401);
  }
  for (const other of [
    about("tidepool/other", 1),
    about("tidepool/docs", 99),
    {},
    [],
    null,
    "[{",
    "not JSON",
  ]) {
    expect(await send(world, other)).toEqual({ status: 200, body: { result: "ignored" } });
  }
  expect((await send(world, "x".repeat(1024 ** 2 + 1))).status).toBe(413);
  const padded = { ...ours, padding: "ü".repeat(400_000) };
  expect(await send(world, padded)).toEqual({ status: 200, body: { result: "taken" } });
  for (const path of ["/webhooks/api", "/webhooks/none", "/webhooks/docs/x"]) {
    expect((await world.service.ask(path, { key: null, body: ours })).status).toBe(404);
  }
  expect((await world.service.ask("/webhooks/docs", { key: null })).status).toBe(405);
});

it("looks once a second at most, however many webhooks come during each look", async () => {
  let during: () => Promise<unknown> = async () => {};
  const hook: ProxyHook = async (phase, what) => {
    if (phase === "before" && what.endsWith("/graphql")) await during();
    return false;
  };
  await using world = await openFollowingWorld({ hasWebhook: true, pollSeconds: 3600, hook });
  const { pull } = await world.job();
  await world.pass(60 * SECOND);
  const storm = () => Promise.all(Array.from({ length: 5 }, () => replay(world, pull.pull_number)));
  during = storm;
  world.host.resetCalls();
  for (let second = 0; second < 5; second += 1) {
    await storm();
    await world.pass(SECOND);
  }
  during = async () => {};
  expect(world.host.calls.graphql).toBeGreaterThanOrEqual(5);
  expect(world.host.calls.graphql).toBeLessThanOrEqual(6);
  // What came during the last look is looked at once more, and no more than once.
  await world.pass(10 * SECOND);
  expect(world.host.calls.graphql).toBeLessThanOrEqual(7);
});

it(
  "leaves most of the calls to others while a build reports hundreds of statuses",
  { tags: "all" },
  async () => {
    await using world = await openFollowingWorld({ hasWebhook: true });
    const { id, pull } = await world.job();
    await world.pass(60 * SECOND);
    world.host.resetCalls();
    for (let second = 0; second < 150; second += 1) {
      await replay(world, pull.pull_number);
      await world.pass(SECOND);
    }
    // 75 at once, and then 1,000 an hour.
    expect(world.host.calls.graphql).toBeGreaterThan(100);
    expect(world.host.calls.graphql).toBeLessThan(125);
    await world.mine.pulls.merge(pull);
    await world.pass(60 * SECOND);
    expect(await world.record(id)).toMatchObject({ state: "merged" });
  },
);

it(
  "looks less often where reviews are so long that they take this thread a while",
  { tags: "all" },
  async () => {
    await using world = await openFollowingWorld({ hasWebhook: true });
    const { id, pull } = await world.job();
    await world.pass(60 * SECOND);
    for (let review = 0; review < 30; review += 1) {
      await world.hers.pulls.createReview({ ...pull, event: "COMMENT", body: "\u0001".repeat(65_536) });
    }
    await world.hers.pulls.createReview({ ...pull, event: "APPROVE", body: `Fine. ${"x".repeat(65_000)}` });
    await world.pass(60 * SECOND);
    expect(await world.record(id)).toMatchObject({
      review: "approved",
      reviews: expect.arrayContaining([
        expect.objectContaining({ words: expect.stringMatching(/^Fine\. x/) }),
      ]),
    });
    world.host.resetCalls();
    for (let second = 0; second < 30; second += 1) {
      await replay(world, pull.pull_number);
      await world.pass(SECOND);
    }
    expect(world.host.calls.graphql).toBeGreaterThan(0);
    expect(world.host.calls.graphql).toBeLessThan(5);
    await world.mine.pulls.merge(pull);
    await world.pass(120 * SECOND);
    expect(await world.record(id)).toMatchObject({ state: "merged" });
  },
);

it("has no webhooks without a secret", async () => {
  await using world = await openFollowingWorld();
  expect((await send(world, {})).status).toBe(404);
});

/** A webhook about the pull request, as the host signs it. */
async function replay(world: Awaited<ReturnType<typeof openFollowingWorld>>, number: number) {
  const { owner, repo } = world.at;
  const repository = { full_name: `${owner}/${repo}` };
  expect((await send(world, { repository, pull_request: { number } })).status).toBe(200);
}

/** Waits until the host has told so many things, and lets what comes of them be done. */
async function told(world: Awaited<ReturnType<typeof openFollowingWorld>>, count: number): Promise<void> {
  const answered = () => world.host.deliveries.filter(({ status }) => status === 200).length;
  while (answered() < count) await new Promise((resolve) => setImmediate(resolve));
  await world.pass(2 * SECOND);
}
