// @module-tag all

import { expect, it } from "vitest";
import { ImpossibleForAPerson } from "../../../world/slack/index.ts";
import { refusalOf, startHttpApp, startSlack } from "./setup.ts";

const EVENT = "agent_session_stopped";

async function startAgent(events: string[] = [EVENT]) {
  const world = await startSlack({ isAgent: true, events });
  const { docs, workspace, ada, client } = world;
  const { ts } = workspace.say({ channel: docs.id, user: ada.id, text: "hello" });
  const thread = { channel_id: docs.id, thread_ts: ts };
  const set = (status: string, over: object = {}) =>
    client.agents.sessions.setStatus({ ...thread, status, ...over });
  const stop = () => world.slack.person(ada.id).stopSession({ channel: docs.id, threadTs: ts });
  return Object.assign(world, { thread, set, stop });
}

it("is for apps that are declared as agents alone", async () => {
  await using world = await startSlack();
  const { client, docs } = world;
  const call = client.agents.sessions.setStatus({ channel_id: docs.id, thread_ts: "1.0", status: "active" });
  expect(await refusalOf(call)).toBe("not_authorized");
});

it("takes four statuses, of threads that are there", async () => {
  await using world = await startAgent();
  const { set, workspace, ada } = world;
  expect(await set("suspended")).toMatchObject({ ok: true, status: "suspended", agent_status: "suspended" });
  expect(await refusalOf(set("is thinking…"))).toBe("invalid_arguments");
  expect(await refusalOf(set("active", { thread_ts: "1.000100" }))).toBe("invalid_thread_ts");
  const other = workspace.addChannel({ name: "random", members: [ada.id] });
  expect(await refusalOf(set("active", { channel_id: other.id }))).toBe("channel_not_found");
});

it("has one place for its loader and the indicator: the last call wins, with its Stop button", async () => {
  await using world = await startAgent();
  const { client, clock, docs, set, stop, thread, workspace } = world;
  const drawn = () => workspace.threadStatuses.drawn(thread.channel_id, thread.thread_ts);
  await set("processing");
  await client.chat.postMessage({ channel: docs.id, thread_ts: thread.thread_ts, text: "a step" });
  expect(drawn()).toBe("Working…");
  clock.advance(3_600_000);
  expect(drawn()).toBe(null);
  await set("processing");
  await client.assistant.threads.setStatus({ ...thread, status: "works", loading_messages: ["works"] });
  expect(drawn()).toBe("works");
  await expect(stop()).rejects.toThrow(ImpossibleForAPerson);
  await set("processing");
  await set("active");
  expect(drawn()).toBe(null);
});

it("tells of a press of Stop, and leaves the status to the app", async () => {
  await using world = await startAgent();
  const { ada, docs, set, slack, stop, thread, workspace } = world;
  const seen: unknown[] = [];
  await using _ = await startHttpApp(slack, (app) => {
    app.event(EVENT, async ({ event }) => void seen.push(event));
  });
  await set("processing");
  expect((await stop()).status).toBe(200);
  expect(seen).toEqual([
    {
      type: EVENT,
      channel: docs.id,
      user: ada.id,
      thread_ts: thread.thread_ts,
      streaming_message_ts: [],
      event_ts: expect.any(String),
    },
  ]);
  expect(workspace.threadStatuses.session(docs.id, thread.thread_ts)).toBe("processing");
});

it("has no Stop button without its event, and warns in each answer", async () => {
  await using world = await startAgent([]);
  const answer = await world.set("processing");
  expect(answer.response_metadata?.warnings).toEqual([`missing_${EVENT}_event_subscription`]);
  await expect(world.stop()).rejects.toThrow(ImpossibleForAPerson);
});
