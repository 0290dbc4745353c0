// @module-tag all
import { expect, it } from "vitest";
import { startSides } from "../support/replicas.ts";
import { PR, reportOfLink } from "../support/threads.ts";
import { ANA, BEN, DOCS } from "../support/world.ts";

it("is one act, though two people press at two replicas, and each press is delivered to both", async () => {
  const { resources, slack, service, open } = await startSides({}, {}, { level: 2 });
  await using _ = resources;
  service.script.onCreate(({ id }) =>
    service.follow(id, { url: PR, blockedBy: "conflicts", mergeable: false, baseRef: "main" }),
  );
  service.script.completeAfterPolls(1, { prLink: PR });
  const replicas = [open(), open()];
  const urls = await Promise.all(replicas.map((replica) => replica.ready()));
  const at = (n: number) => slack.setAppUrl(`${urls[n] ?? ""}/slack/events`);
  at(0);
  await slack.person(ANA).command({ channel: DOCS, text: "fix the quickstart" });
  const hasButton = ({ blocks = [] }: { blocks?: unknown[] }) =>
    JSON.stringify(blocks).includes('"action_id":"update_pull_request"');
  const post = await slack.until(() => slack.messages(DOCS).find(hasButton), 60_000);

  service.script.reset();
  const click = { channel: DOCS, messageTs: post.ts, actionId: "update_pull_request" };
  const presses = [ANA, BEN].map((person, n) => {
    at(n);
    return slack.person(person).click(click);
  });
  const pressed = await Promise.all(presses);
  expect(pressed.map(({ status }) => status)).toEqual([200, 200]);
  // Slack, or what stands before the replicas, may deliver a press twice.
  for (const n of [1, 0]) {
    at(n);
    const again = await Promise.all(pressed.map(({ delivery }) => slack.redeliver(delivery)));
    expect(again.map(({ status }) => status)).toEqual([200, 200]);
  }
  await slack.until(() => service.acts.length > 0, 60_000);
  service.finish("job_1", { status: "completed", prLink: PR, turn: reportOfLink() });
  const posts = () => slack.messages(DOCS).map(({ metadata }) => String(metadata?.event_payload["post"]));
  const outcomes = () => posts().filter((name) => name.startsWith("outcome-"));
  await slack.until(() => outcomes().length === 2, 60_000);
  // The one who came second is told, and by whom it was asked.
  await slack.until(() => [ANA, BEN].some((person) => slack.ephemerals(person).length > 0), 60_000);
  expect(service.acts).toEqual([expect.objectContaining({ jobId: "job_1", act: "update" })]);
  expect(posts().toSorted()).toEqual(["news-1", "outcome-1", "outcome-1", "status", "status"]);
  expect(replicas.map(({ hasExited }) => hasExited)).toEqual([false, false]);
});
