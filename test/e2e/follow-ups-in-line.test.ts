import { expect, it } from "vitest";
import { MINUTE_MS, askedFor, reply } from "../support/threads.ts";
import { ANA, DOCS, World } from "../support/world.ts";

const unlimited = { REQUESTS_PER_PERSON: "0", REQUESTS_PER_CHANNEL: "0" };

it(
  "130 follow-ups that wait for their job go to it in their order, each as soon as it may",
  { tags: "nightly" },
  async () => {
    await using world = await World.start({ env: unlimited });
    const { service } = world;
    await service.down();
    await world.slack.person(ANA).command({ channel: DOCS, text: "fix the install page" });
    const root = await world.until(() => world.slack.messages(DOCS)[0]);
    const prompts = Array.from({ length: 130 }, (_, n) => `and page ${n + 1}`);
    for (const prompt of prompts) await reply(world, root, prompt);
    await service.up();
    await world.until(() => service.creates.length === 1);
    const startedAt = world.clock.now();
    await world.until(() => service.messages.length === prompts.length, 10 * MINUTE_MS);
    expect(service.messages.map(askedFor)).toEqual(prompts);
    // Nobody waits for a look at the clock.
    expect(world.clock.now() - startedAt).toBeLessThan(5_000);
    expect(service.creates).toHaveLength(1);
  },
);
