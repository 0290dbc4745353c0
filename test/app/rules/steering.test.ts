import { expect, it } from "vitest";
import { FollowUps, maySteer } from "../../../src/app/rules/thread/people.ts";
import { makeRequest, makeTurn } from "../../support/builders.ts";

it.each(FollowUps.options)("FOLLOW_UPS=%s says whether others than the requester may steer", (policy) => {
  const turn = makeTurn({ request: makeRequest({ userId: "U1" }) });
  expect([maySteer(policy, turn, "U1"), maySteer(policy, turn, "U2")]).toEqual([
    true,
    policy !== "requester",
  ]);
});
