import { Octokit } from "@octokit/rest";
import { expect, it } from "vitest";
import { openFollowingWorld } from "../../support/following-world.ts";
import { QUIET } from "../../world/code-host/setup.ts";

const MINUTE = 60_000;

it.each([true, false])(
  "says that a bot asks for changes, and leaves it alone, with GraphQL: %s",
  async (hasGraphql) => {
    await using world = await openFollowingWorld({ project: { addressReviews: "always" } });
    const { host } = world;
    host.rules.hasGraphql = hasGraphql;
    const { id, prLink, pull } = await world.job();
    host.tokens.add({ token: "lint-token-0123456789", login: "lint[bot]" });
    const lint = new Octokit({ auth: "lint-token-0123456789", baseUrl: host.apiUrl, log: QUIET }).rest;
    await lint.pulls.createReview({ ...pull, event: "REQUEST_CHANGES", body: "Use serial commas." });
    await world.pass(30 * MINUTE);
    expect(await world.record(id)).toMatchObject({
      review: "changes-requested",
      reviews: [{ author: "lint", isBot: true, state: "changes-requested" }],
    });
    expect(world.service.store.turns(id).map(({ kind }) => kind)).toEqual(["message"]);
    await world.hers.pulls.createReview({ ...pull, event: "REQUEST_CHANGES", body: "Shorter." });
    const passing = world.pass(5 * MINUTE);
    const run = await world.service.runner.runOf(id, 2);
    run.end({ kind: "pull-request", prLink, summary: null, leftOut: [] });
    await passing;
    expect(world.service.store.turns(id).map(({ kind }) => kind)).toEqual(["message", "address"]);
  },
);

it("answers three passes of reviews unasked, and leaves the fourth to a person", async () => {
  await using world = await openFollowingWorld({ project: { addressReviews: "always" } });
  const { id, prLink, pull } = await world.job();
  await world.pass(MINUTE);
  const review = (body: string) => world.hers.pulls.createReview({ ...pull, event: "REQUEST_CHANGES", body });
  for (const number of [2, 3, 4]) {
    await review(`Shorter, please (${number}).`);
    const passing = world.pass(5 * MINUTE);
    const run = await world.service.runner.runOf(id, number);
    run.input.report({ isRound: true });
    run.end({ kind: "pull-request", prLink, summary: "Shorter", leftOut: [] });
    await passing;
  }
  await review("Shorter still.");
  await world.pass(30 * MINUTE);
  expect(world.service.store.turns(id).map(({ kind }) => kind)).toEqual([
    "message",
    "address",
    "address",
    "address",
  ]);
  const asked = await world.service.ask(`/v2/agent/docs/job/${id}/address`, { body: {} });
  expect(asked.status).toBe(409);
  expect(await asked.json()).toEqual({
    error: "The agent has answered three rounds of reviews and checks. Now a person has to decide.",
  });
});
