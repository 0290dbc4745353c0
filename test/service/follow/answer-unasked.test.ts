import { expect, it } from "vitest";
import { openFollowingWorld } from "../../support/following-world.ts";

const MINUTE = 60_000;

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
