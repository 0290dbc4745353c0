// @module-tag nightly
import { expect, it } from "vitest";
import { PR, expectOnce, outcomesIn, startSides } from "../support/replicas.ts";
import { ANA, DOCS } from "../support/world.ts";

it("two replicas in Socket Mode: Slack sends each request to one of them, and when one is killed to the other", async () => {
  const { resources, slack, service, open } = await startSides({}, { socketMode: true });
  await using _ = resources;
  service.script.completeAfterPolls(2, { prLink: PR });
  const { socketMode } = slack;
  const replicas = [open(), open()];
  await Promise.all(replicas.map((replica) => replica.ready()));
  await expect.poll(() => socketMode.connections, { timeout: 10_000 }).toBe(2);

  const ana = slack.person(ANA);
  for (let n = 0; n < 6; n += 1) {
    const sent = await ana.command({ channel: DOCS, text: `fix page ${n}` });
    expect(sent).toMatchObject({ status: 200, delivery: { transport: "socket" } });
  }
  // Slack asks each of them for another connection, as it does every few hours.
  socketMode.disconnect();
  expect((await ana.command({ channel: DOCS, text: "fix page 6" })).status).toBe(200);
  await expect.poll(() => socketMode.connectionCounts.slice(2).includes(3), { timeout: 10_000 }).toBe(true);
  await expect.poll(() => socketMode.connections, { timeout: 10_000 }).toBe(2);

  // One of them hears what it is sent, and ends before it can answer.
  replicas[0]?.signal("SIGSTOP");
  const seven = ana.mention({ channel: DOCS, text: "fix page 7" });
  // A mention is two events, one for each of them; this is one, so that the next mention goes to the other.
  const chat = ana.say({ channel: DOCS, text: "by the way", threadTs: slack.messages(DOCS)[0]?.ts ?? "" });
  const sent = await Promise.all([seven, ana.mention({ channel: DOCS, text: "fix page 8" })]);
  await chat;
  expect(sent.map(({ status }) => status).toSorted()).toEqual([0, 200]);
  const unanswered = sent.find(({ status }) => status === 0)?.delivery;
  if (unanswered === undefined) throw new Error("the app is not in the channel");
  await replicas[0]?.kill();
  await expect.poll(() => socketMode.connections).toBe(1);
  // Slack sends events again.
  expect((await slack.redeliver(unanswered, { retryNum: 1, resign: true })).status).toBe(200);
  for (const n of [9, 10]) {
    expect((await ana.command({ channel: DOCS, text: `fix page ${n}` })).status).toBe(200);
  }
  await slack.until(() => outcomesIn(slack).length >= 11, 120_000);
  expectOnce(slack, service, 11);
  expect(replicas[1]?.hasExited).toBe(false);
}, 200_000);
