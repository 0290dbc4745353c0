import { expect, it } from "vitest";
import { done, reply } from "../support/threads.ts";
import { ANA, DOCS, World } from "../support/world.ts";

it("what the job service says does not reach the log: it may quote what people wrote", async () => {
  await using world = await World.start();
  const body = { error: "Prompt too vague: reset the password of ana@example.com" };
  world.service.faults.add({ op: "get", times: 2, fault: { kind: "status", status: 500, body } });
  await world.slack.person(ANA).command({ channel: DOCS, text: "fix it" });
  await world.until(() => world.service.gets.length > 0);
  world.service.faults.add({ op: "create", times: 1, fault: { kind: "status", status: 400, body } });
  await world.slack.person(ANA).command({ channel: DOCS, text: "fix that" });
  await world.until(() => world.read(DOCS).some((text) => text.includes("Prompt too vague")));
  const log = JSON.stringify(world.logger.lines);
  expect(log).toContain("answered 400");
  expect(log).toContain("answered 500");
  expect(log).not.toContain("ana@example.com");
});

it("no line names a field twice", async () => {
  await using world = await World.start({ jobService: { level: 1 } });
  const root = await done(world);
  await reply(world, root, "new: and the FAQ");
  await world.until(() => world.logger.text("info").split("turn opened").length === 3);
  expect(world.logger.repeated).toEqual([]);
});
