import { expect, it } from "vitest";
import { createSlackWorkStatus } from "../../../src/app/slack/slack-work-status.ts";
import { ANA, DOCS, startSide, TEAM } from "../messages/setup.ts";
import type { Side } from "../messages/setup.ts";

const METHOD = "agents.sessions.setStatus";

async function threadIn(side: Side) {
  const { message } = await side.slack.person(ANA).say({ channel: DOCS, text: "The FAQ is wrong" });
  return { teamId: TEAM, channelId: DOCS, ts: message.ts };
}

it("says once that the event of Slack's own Stop is missing, and what to do", async () => {
  await using side = await startSide({ isAgent: true });
  const workStatus = createSlackWorkStatus(side);
  const thread = await threadIn(side);
  for (const status of ["processing", "active"] as const) await workStatus.setSession(thread, status, true);
  const warned = side.logger.lines.filter(({ level }) => level === "warn").map(({ message }) => message);
  expect(warned).toEqual([
    "Slack shows no Stop button: subscribe to the event agent_session_stopped in your Slack app's settings",
  ]);
});

it("knows of no way before Slack has answered, and keeps to the indicator once it refused", async () => {
  await using side = await startSide();
  const workStatus = createSlackWorkStatus(side);
  const thread = await threadIn(side);
  side.slack.faults.add({ method: METHOD, fault: { kind: "drop-before" } });
  expect((await workStatus.setSession(thread, "processing", false)).ok).toBe(false);
  expect(workStatus.wayIn(thread)).toBe(undefined);
  const refused = { ok: false, fault: { kind: "place", error: "not_authorized" } };
  expect(await workStatus.setSession(thread, "processing", false)).toEqual(refused);
  expect(workStatus.wayIn(thread)).toBe("indicator");
  await workStatus.setSession(thread, "active", false);
  expect(side.slack.calls.filter(({ method }) => method === METHOD)).toHaveLength(2);
});

it("gives a thread its session back once Slack takes it", async () => {
  await using side = await startSide({ isAgent: true });
  const workStatus = createSlackWorkStatus(side);
  const thread = await threadIn(side);
  await workStatus.setSession(thread, "closed", false);
  side.slack.faults.add({ method: METHOD, fault: { kind: "error", error: "a_new_error" } });
  await workStatus.setSession(thread, "processing", true);
  const other = { ...thread, ts: "2.000200" };
  expect([workStatus.wayIn(thread), workStatus.wayIn(other)]).toEqual(["indicator", "session"]);
  await workStatus.setSession(thread, "processing", true);
  expect(workStatus.wayIn(thread)).toBe("session");
});
