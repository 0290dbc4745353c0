// @module-tag all

import { expect, it } from "vitest";
import { GROUP_MESSAGE_SCOPES } from "../../src/app/slack/connection/setup.ts";
import { readManifest } from "../support/manifest.ts";
import { MINUTE_MS, PR, jobOf, reply } from "../support/threads.ts";
import { ANA, BEN, DOCS, World } from "../support/world.ts";

const { bot_optional } = readManifest().oauth_config.scopes;

it.each([...bot_optional.map((scope) => [scope]), bot_optional])(
  "without %s %s %s %s %s %s %s %s %s %s everything else works, and the log says once what is absent",
  async (...withoutScopes) => {
    await using world = await World.start({ withoutScopes });
    const { slack, service } = world;
    const { message } = await slack.person(ANA).mention({ channel: DOCS, text: "fix the FAQ" });
    const picked = slack.workspace.say({ channel: DOCS, user: BEN, text: "The glossary is wrong" });
    await slack.person(BEN).shortcut({ callbackId: "fix_these_docs", channel: DOCS, messageTs: picked.ts });
    await slack.person(BEN).submit({ viewId: (await world.form(BEN)).id });
    await world.until(() => service.creates.length === 2);
    expect(service.creates.map(({ prompt }) => prompt.split("\n")[0])).toEqual([
      "fix the FAQ",
      "Fix the problem this message describes.",
    ]);
    for (const { jobId } of service.creates) service.finish(jobId, { status: "completed", prLink: PR });
    await world.until(() => world.replies(DOCS, message.ts).length === 2);
    await world.until(() => world.replies(DOCS, picked.ts).length === 2);
    await reply(world, message, "and the index");
    await world.until(() => service.messages.length === 1);
    expect(jobOf(world, 0)).toBe(service.messages[0]?.jobId);
    await world.pass(60 * MINUTE_MS);

    const lines = world.logger
      .text("warn")
      .split("\n")
      .filter((line) => line.includes("the app lacks optional scopes"));
    const isTold = withoutScopes.some((scope) => !GROUP_MESSAGE_SCOPES.includes(scope));
    expect(lines).toHaveLength(isTold ? 1 : 0);
    for (const scope of bot_optional.filter((each) => isTold && !GROUP_MESSAGE_SCOPES.includes(each))) {
      expect(lines[0]?.includes(`"${scope}"`)).toBe(withoutScopes.includes(scope));
    }
    expect(world.logger.text("error")).toBe("");
    const refused = slack.calls.filter(({ result }) => result === "missing_scope");
    expect(refused.filter(({ method }) => method.startsWith("reactions."))).toEqual([]);
  },
);

it("with all of them the log says nothing", async () => {
  await using world = await World.start();
  await world.pass(MINUTE_MS);
  expect(world.logger.text("warn")).toBe("");
});
