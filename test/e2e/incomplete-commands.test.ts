// @module-tag all

import { describe, expect, it } from "vitest";
import { ANA, DOCS, World } from "../support/world.ts";

/** A command as Slack sends it, without one of its fields. */
async function commandWithout(world: World, field: string, text: string) {
  // One that Slack could not deliver, so that its bytes are there to be changed.
  world.slack.setAppUrl("http://127.0.0.1:9/");
  const { delivery } = await world.slack.person(ANA).command({ channel: DOCS, text });
  world.slack.setAppUrl(`${world.appUrl}/slack/events`);
  const form = new URLSearchParams(delivery.body);
  expect(form.has(field)).toBe(true);
  form.delete(field);
  return world.slack.redeliver({ ...delivery, body: form.toString() }, { resign: true });
}

describe("a command without", () => {
  it.each(["team_id", "channel_id", "trigger_id", "user_id"])(
    "%s says to the person that nothing was started",
    async (field) => {
      await using world = await World.start();
      for (const page of ["one", "two"]) {
        const answer = await commandWithout(world, field, `fix page ${page}`);
        expect(answer.status).toBe(200);
        expect(JSON.parse(answer.body)).toMatchObject({
          response_type: "ephemeral",
          text: expect.stringContaining("nothing was started") as unknown,
        });
      }
      await world.pass(60_000);
      expect(world.service.calls).toEqual([]);
      expect(world.read(DOCS)).toEqual([]);
      // An operator finds out why.
      expect(world.logger.text("error")).toContain(field);
    },
  );

  it("response_url is taken, each one", async () => {
    await using world = await World.start();
    for (const page of ["one", "two"]) {
      const answer = await commandWithout(world, "response_url", `fix page ${page}`);
      expect(answer).toMatchObject({ status: 200, body: "" });
    }
    await world.until(() => world.service.creates.length === 2);
    await world.until(() => world.read(DOCS).length === 2);
  });
});
