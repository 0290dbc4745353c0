import { expect, it } from "vitest";
import type { SlackMessage } from "../../world/slack/index.ts";
import { OFFERS_EVERYTHING } from "../support/service-kinds.ts";
import { press, privately } from "../support/presses.ts";
import { askedFor, done, jobOf, LINK, MINUTE_MS, PR, reply, reportOfLink } from "../support/threads.ts";
import { ANA, BEN, DOCS, World, type WorldOptions } from "../support/world.ts";

const CLOSES = OFFERS_EVERYTHING;

/** A thread whose follow-up took everything back, and the outcome of that. */
async function takenBack(options: WorldOptions = {}) {
  const world = await World.start({ jobService: CLOSES, ...options });
  const root = await done(world);
  const jobId = jobOf(world);
  world.service.follow(jobId);
  await reply(world, root, "take it back", ANA);
  await world.until(() => world.service.messages.map(askedFor).includes("take it back"));
  const { pullRequest } = reportOfLink();
  const turn = { summary: "Took it back.", pullRequest: { ...pullRequest, isEmpty: true } };
  world.service.finish(jobId, { status: "completed", prLink: PR, turn });
  const outcome = await world.until(() =>
    world.replies(DOCS, root.ts).find((each) => world.slack.visibleText(each).includes("left to merge in")),
  );
  await world.settle();
  return { world, root, jobId, outcome };
}

async function pressed(world: World, who: string, outcome: SlackMessage): Promise<void> {
  await press(world, who, outcome, "close_pull_request");
  await world.pass(MINUTE_MS);
}

it("says that nothing is left to merge, and closes the pull request for whoever presses the button", async () => {
  const { world, root, jobId, outcome } = await takenBack();
  await using _ = world;
  expect(world.slack.visibleText(outcome)).toContain(`Nothing is left to merge in ${LINK}.`);
  expect(world.slack.visibleText(outcome)).toContain("Took it back.");
  expect(JSON.stringify(outcome.blocks)).not.toContain("show_changes");
  const shown = world.replies(DOCS, root.ts).map((each) => world.slack.visibleText(each));
  expect(shown).toContainEqual(expect.stringContaining(`➖ Nothing left to merge: ${LINK}`));
  await pressed(world, BEN, outcome);
  expect(world.service.closed).toEqual([jobId]);
  await world.pass(15 * MINUTE_MS);
  const last = world.replies(DOCS, root.ts).at(-1);
  expect(last && world.slack.visibleText(last)).toContain("was closed without merging");
  expect(privately(world, BEN)).toEqual([]);
});

it("tells why a pull request stays open, to whoever wanted it closed alone", async () => {
  const { world, root, outcome } = await takenBack();
  await using _ = world;
  world.service.staysOpen = "It has a <!channel> *new* change.";
  const before = world.replies(DOCS, root.ts).length;
  await pressed(world, BEN, outcome);
  expect(privately(world, BEN)).toEqual([`I left ${LINK} as it is:\nIt has a <!channel> *new* change.`]);
  expect(world.replies(DOCS, root.ts)).toHaveLength(before);
});

it("closes nothing for people who may not steer the request", async () => {
  const { world, outcome } = await takenBack({ env: { FOLLOW_UPS: "requester" } });
  await using _ = world;
  await pressed(world, BEN, outcome);
  expect(world.service.closed).toEqual([]);
  expect(privately(world, BEN)[0]).toContain("Only");
  await pressed(world, ANA, outcome);
  expect(world.service.closed).toHaveLength(1);
});

it("closes it once the job service is back, and tells nobody twice", async () => {
  const { world, jobId, outcome } = await takenBack();
  await using _ = world;
  world.service.faults.add({ op: "close", times: 2, fault: { kind: "drop-before" } });
  await pressed(world, ANA, outcome);
  await world.pass(5 * MINUTE_MS);
  expect(world.service.closed).toEqual([jobId]);
  expect(privately(world, ANA)).toEqual([]);
});
